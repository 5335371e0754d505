package kernel

import (
	"sort"

	"capgnn/gpu/host/workers"
)

// Sizes of GAT operations. They decide how sums are cut, for every instruction set alike.
const (
	gatHeads   = 8        // heads computed at a time: a vector of AVX2
	gatLanes   = 16       // numbers per row in arrays of one per head: a vector of AVX-512
	gatWeights = 8 << 10  // weights of a batch, 32 KiB: they stay in L1 and L2 between the kernels
	gatGroup   = 128      // rows of a group: their scratch rows stay in L2
	gatItem    = 16 << 10 // work of one item of the loop over rows, in entries
	gatRowCost = 8        // work of a row beside its entries, in entries
)

// gatSegment is a run of entries of one row whose weights are in the workspace at once. A row has one for its inner and one
// for its halo entries, or several if it has more entries than there are weights. gen/gat.go knows the layout.
type gatSegment struct {
	from, n int64 // entries
	row     int64 // of the group
	at      int64 // byte offset of the weights
	flags   int64
}

// Flags of a segment.
const (
	gatFirst int64 = 1 << iota // of its row
	gatLast
)

// attention is one worker's workspace for GAT operations on the rows of a group and at most gatHeads heads.
//
// Weights of entry e, head h are weight[set][(at/4 + (e-from)·stride) + h]. Arrays of one number per head have gatLanes of
// them per row.
type attention struct {
	heads, channels int
	stride          int
	head            []int32      // of each column, and of a vector more
	weight          [4][]float32 // sets
	state           []float32    // two per row and head: GATForward's maximum and sum of a row's segments so far
	factors         []float32    // two per row and head: what the sums so far, and those of the segment, are multiplied by
	less            []float32
	draws           edgeDraws
	rows            Dense // scratch rows
	inner, halo     []gatSegment
	bare            []int // rows of the group without entries
}

// attentions returns every worker's workspace for the given heads and columns of each. scratch says whether scratch rows are
// needed.
func (sc *Scratch) attentions(threads, heads, channels int, scratch bool) []attention {
	if sc.att == nil {
		sc.att = make([]attention, threads)
		for i := range sc.att {
			sc.att[i].allocate()
		}
	}
	cols := heads * channels
	table := workers.Grown(&sc.att[0].head, cols+gatLanes)
	for j := range table {
		table[j] = int32(min(j/max(channels, 1), heads-1))
	}
	for i := range sc.att {
		a := &sc.att[i]
		a.heads, a.channels, a.head, a.stride = heads, channels, table, heads
		for Active != generic && a.stride&(a.stride-1) != 0 {
			a.stride++
		}
		if scratch {
			a.rows = Dense{workers.Grown(&a.rows.V, gatGroup*cols), gatGroup, cols, cols}
		}
	}
	return sc.att
}

// OwnLen is how many floats a worker takes at most for a layer of so many columns: blocks of widened rows and of a product, and attention.
func OwnLen(in, out int) int {
	wide := max(in, out)
	return 2*(gemmRows+tnBlock)*wide + workers.Grain + gatGroup*wide + 4*gatWeights + 16*gatGroup*gatLanes
}

// allocate makes the arrays whose sizes do not depend on the operation.
func (a *attention) allocate() {
	for i := range a.weight {
		a.weight[i] = make([]float32, gatWeights+gatLanes) // whole vectors are read from every entry on
	}
	a.state, a.factors = make([]float32, 2*gatGroup*gatLanes), make([]float32, 2*gatGroup*gatLanes)
	a.less = make([]float32, gatGroup*gatLanes)
	a.inner, a.halo = make([]gatSegment, 0, gatGroup), make([]gatSegment, 0, gatGroup)
	a.bare = make([]int, 0, gatGroup)
}

// weights returns set i of a segment's weights.
func (a *attention) weights(i int, s *gatSegment) []float32 {
	return a.weight[i][s.at/4:][:int(s.n)*a.stride]
}

// perRow returns the n·gatLanes numbers of a row.
func perRow(v []float32, row int64, n int) []float32 { return v[int(row)*n*gatLanes:][:n*gatLanes] }

// group makes the segments of the group of rows that begins with row lo, and returns the row behind it, at most hi. A row
// with more entries than there is room for is a group of its own; so a row's segments depend on the row only. With empties,
// rows without entries have a segment too; otherwise they are listed in bare.
func (a *attention) group(inner, halo *rowCursor, lo, hi int, empties bool) int {
	a.inner, a.halo, a.bare = a.inner[:0], a.halo[:0], a.bare[:0]
	room := [2]int64{gatWeights, gatWeights}
	for v := lo; v < min(hi, lo+gatGroup); v++ {
		from0, n0 := inner.row(v)
		from1, n1 := halo.row(v)
		size := [2]int64{a.lanes(n0), a.lanes(n1)}
		if v > lo && (size[0] > room[0] || size[1] > room[1]) {
			return v
		}
		if n0+n1 == 0 && !empties {
			a.bare = append(a.bare, v-lo)
			continue
		}
		if n0 > 0 || n1 == 0 {
			a.inner = a.split(a.inner, gatSegment{from0, n0, int64(v - lo), 4 * (gatWeights - room[0]), gatFirst})
			room[0] -= size[0]
		}
		if n1 > 0 {
			s := gatSegment{from1, n1, int64(v - lo), 4 * (gatWeights - room[1]), 0}
			if n0 == 0 {
				s.flags = gatFirst
			}
			a.halo = a.split(a.halo, s)
			a.halo[len(a.halo)-1].flags |= gatLast
			room[1] -= size[1]
		} else {
			a.inner[len(a.inner)-1].flags |= gatLast
		}
		if room[0] <= 0 || room[1] <= 0 {
			return v + 1
		}
	}
	return min(hi, lo+gatGroup)
}

// lanes returns the numbers that n entries' weights take: whole vectors, at least one.
func (a *attention) lanes(n int64) int64 {
	return (max(n, 1)*int64(a.stride) + gatLanes - 1) / gatLanes * gatLanes
}

// split appends s to list, in pieces of as many entries as have weights at once.
func (a *attention) split(list []gatSegment, s gatSegment) []gatSegment {
	for most := int64(gatWeights / a.stride); s.n > most; s.n -= most {
		piece := s
		piece.n = most
		list = append(list, piece)
		s.from += most
		s.flags &^= gatFirst
	}
	return append(list, s)
}

// batch returns the first segments of list whose weights do not overlap: all of them, or a piece of a long row.
func batch(list []gatSegment) []gatSegment {
	for i := 1; i < len(list); i++ {
		if list[i].at == 0 {
			return list[:i]
		}
	}
	return list
}

// rowCursor finds the entries of rows that are asked for in ascending order.
type rowCursor struct {
	a Sparse
	k int // no stored row before it is needed any more
}

func newRowCursor(a Sparse, lo int) rowCursor { return rowCursor{a, a.find(lo)} }

// row returns the entries of matrix row v.
func (c *rowCursor) row(v int) (from, n int64) {
	if c.a.List == nil {
		if len(c.a.Begin) == 0 {
			return 0, 0
		}
		return c.a.Begin[v], c.a.End[v] - c.a.Begin[v]
	}
	for c.k < len(c.a.List) && int(c.a.List[c.k]) < v {
		c.k++
	}
	if c.k == len(c.a.List) || int(c.a.List[c.k]) != v {
		return 0, 0
	}
	return c.a.Begin[c.k], c.a.End[c.k] - c.a.Begin[c.k]
}

// columns returns n columns of m from column lo on.
func (m Dense) columns(lo, n int) Dense {
	if m.Empty() {
		return Dense{nil, m.Rows, n, m.LD}
	}
	return Dense{m.V[lo:], m.Rows, n, m.LD}
}

// find returns the first stored row whose matrix row is at least v.
func (a Sparse) find(v int) int {
	if a.List == nil {
		return min(v, len(a.Begin))
	}
	return sort.Search(len(a.List), func(k int) bool { return int(a.List[k]) >= v })
}

// before returns the entries stored before matrix row v, gaps included.
func (a Sparse) before(v int) int64 {
	k := a.find(v)
	switch {
	case len(a.Begin) == 0:
		return 0
	case k == len(a.Begin):
		return a.End[k-1] - a.Begin[0]
	}
	return a.Begin[k] - a.Begin[0]
}

// Between returns the entries stored in matrix rows lo to hi, without gaps.
func (a Sparse) Between(lo, hi int) int64 {
	if lo == 0 && hi == a.Rows {
		return a.Entries
	}
	n := int64(0)
	for k := a.find(lo); k < a.find(hi); k++ {
		n += a.End[k] - a.Begin[k]
	}
	return n
}

// groups calls f for the groups of rows lo to hi, with their segments in the worker's workspace. Items of about equal work
// are shared out among the threads; neither they nor groups change a row's result.
func groups(p *workers.Pool, work []attention, a, b Sparse, lo, hi int, empties bool, f func(w *attention, lo, hi int)) {
	before := func(v int) int64 {
		return a.before(v) - a.before(lo) + b.before(v) - b.before(lo) + int64(v-lo)*gatRowCost
	}
	total := before(hi)
	n := int(min(total/gatItem+1, int64(hi-lo)))
	if n < 8*p.Threads {
		n = min(8*p.Threads, hi-lo, int(total/512)+1)
	}
	border := func(i int) int {
		if i == n {
			return hi
		}
		want := total / int64(n) * int64(i)
		return lo + sort.Search(hi-lo, func(r int) bool { return before(lo+r) >= want })
	}
	p.Each(n, func(worker, i int) {
		first, last := border(i), border(i+1)
		inner, halo := newRowCursor(a, first), newRowCursor(b, first)
		for w := &work[worker]; first < last; {
			next := w.group(&inner, &halo, first, last, empties)
			f(w, first, next)
			first = next
		}
	})
}

// leaky returns x for x > 0, else slope·x, and its derivative.
func leaky(x, slope float32) (y, dy float32) {
	if x > 0 {
		return x, 1
	}
	return slope * x, slope
}
