package layered

import (
	"math/bits"

	"capgnn/gpu"
	"capgnn/graph"
)

// size is what there is of a chunk, or the most of it that there is in any chunk.
type size struct {
	rows, sources, entries int
	values                 int // stored values of the sources' sparse features
}

// most returns what is larger of both, each by itself.
func (s size) most(t size) size {
	return size{max(s.rows, t.rows), max(s.sources, t.sources), max(s.entries, t.entries), max(s.values, t.values)}
}

func (s size) within(limit size) bool { return s == s.min(limit) }

func (s size) min(t size) size {
	return size{min(s.rows, t.rows), min(s.sources, t.sources), min(s.entries, t.entries), min(s.values, t.values)}
}

// cost is what one row, source, entry and value take of a device, all buffers of a chunk together.
type cost struct{ row, source, entry, value gpu.Bytes }

// of returns what chunks of at most s take.
func (c cost) of(s size) gpu.Bytes {
	return c.row*gpu.Bytes(s.rows) + c.source*gpu.Bytes(s.sources) + c.entry*gpu.Bytes(s.entries) +
		c.value*gpu.Bytes(s.values)
}

// limits returns how large chunks may be so that they take no more than budget: all of a part if it fits, else all
// sources if they leave a quarter of the budget for the rest, else shares of the budget that are fixed, half of it
// for sources. What all rows, sources or entries of the part together do not need of their share goes to the
// others.
//
// Why all sources: where neighbours are anywhere, a chunk that may read nine tenths of them has a twentieth of the
// vertices.
func (c cost) limits(all size, budget gpu.Bytes) size {
	type item struct {
		each  gpu.Bytes
		all   int
		limit *int
		share gpu.Bytes
	}
	out := all
	items := []item{{c.row, all.rows, &out.rows, 2}, {c.source, all.sources, &out.sources, 4},
		{c.entry, all.entries, &out.entries, 1}, {c.value, all.values, &out.values, 1}}
	if need := c.source * gpu.Bytes(all.sources); need <= budget/4*3 {
		items[1].share, budget = 0, budget-need
	}
	for changed := true; changed; {
		changed = false
		shares := gpu.Bytes(0)
		for _, x := range items {
			shares += x.share
		}
		for i := range items {
			x := &items[i]
			if x.share == 0 {
				continue
			}
			if need := x.each * gpu.Bytes(x.all); need <= budget/shares*x.share {
				budget -= need
				*x.limit, x.share, changed = x.all, 0, true
				break
			}
			*x.limit = int(budget / shares * x.share / x.each)
		}
	}
	return out
}

// division is the vertices of a part that a task computes, in chunks of consecutive ones.
type division struct {
	begin []int // of each chunk, and the number of vertices at last
	most  size
	// worst is the chunk that takes most beyond the limits, -1 if none does: a single vertex.
	worst int
}

func (d *division) chunks() int { return len(d.begin) - 1 }

// divide cuts the vertices of a part into chunks within limits; a vertex beyond them has a chunk of its own.
//
// Method: vertices are added to a chunk as long as it stays within the limits, with a bit for every source that it has.
func divide(need *needed, layer int, inner []graph.NodeID, limit size, c cost, sparse bool) division {
	d := division{begin: []int{0}, worst: -1}
	n := &seen{make([]uint64, (need.p.Vertices()+63)/64)}
	var now size
	var least gpu.Bytes
	closeAt := func(i int) {
		if i == d.begin[len(d.begin)-1] {
			return
		}
		if took := c.of(now); !now.within(limit) && took > least {
			least, d.worst = took, i-1
		}
		d.most, d.begin, now = d.most.most(now), append(d.begin, i), size{}
		n.clear()
	}
	for i, v := range inner {
		grown := n.with(now, need, layer, v, sparse)
		if now.rows > 0 && !grown.within(limit) {
			closeAt(i)
			grown = n.with(now, need, layer, v, sparse)
		}
		now = grown
	}
	closeAt(len(inner))
	return d
}

// divideRows cuts the vertices of a part into chunks that read their own rows alone.
func divideRows(inner []graph.NodeID, rows int) division {
	d := division{begin: []int{0}, worst: -1}
	rows = max(1, rows)
	for lo := 0; lo < len(inner); lo += rows {
		d.begin = append(d.begin, min(len(inner), lo+rows))
	}
	d.most.rows = min(rows, len(inner))
	d.most.sources = d.most.rows
	return d
}

// seen is a set of vertices.
type seen struct{ bits []uint64 }

func (s *seen) clear() { clear(s.bits) }

// add adds u and reports whether it was not there.
func (s *seen) add(u graph.NodeID) bool {
	w, bit := &s.bits[u>>6], uint64(1)<<(u&63)
	was := *w
	*w = was | bit
	return was&bit == 0
}

// with returns the size of a chunk that v is added to, whose sources are in s, and adds v and its in-neighbours.
func (s *seen) with(now size, need *needed, layer int, v graph.NodeID, sparse bool) size {
	before, behind, loop := need.neighbours(layer, v)
	now.rows++
	now.entries += len(before) + len(behind)
	if loop {
		now.entries++
	}
	meet := func(u graph.NodeID) {
		if s.add(u) {
			now.sources++
			if sparse {
				now.values += int(need.p.Features.Indptr[u+1] - need.p.Features.Indptr[u])
			}
		}
	}
	meet(v)
	for _, u := range before {
		meet(u)
	}
	for _, u := range behind {
		meet(u)
	}
	return now
}

// members returns the vertices of every part, ascending; of the only one where part is nil.
func members(part []int32, parts, vertices int) [][]graph.NodeID {
	out := make([][]graph.NodeID, parts)
	if part == nil {
		out[0] = make([]graph.NodeID, vertices)
		for v := range out[0] {
			out[0][v] = graph.NodeID(v)
		}
		return out
	}
	counts := make([]int, parts)
	for _, p := range part {
		counts[p]++
	}
	for p := range out {
		out[p] = make([]graph.NodeID, 0, counts[p])
	}
	for v, p := range part {
		out[p] = append(out[p], graph.NodeID(v))
	}
	return out
}

// whole returns the size of a part that is one chunk, or a bound of it: not all of its sources need differ.
func whole(need *needed, inner []graph.NodeID, t *task) size {
	s := size{rows: len(inner), sources: len(inner)}
	if t.given {
		return s
	}
	for _, v := range inner {
		before, behind, loop := need.neighbours(t.layer, v)
		s.entries += len(before) + len(behind)
		if loop {
			s.entries++
		}
	}
	s.sources = min(need.p.Vertices(), s.entries+s.rows)
	if t.sparse {
		s.values = int(need.p.FeatureEntries())
	}
	return s
}

// indexer numbers the vertices that a chunk reads: its own first, by id, then the others by id.
type indexer struct{ words []word }

// word is what is known of 64 vertices: which are the chunk's own, which others it reads, and how many of both are
// before them.
type word struct {
	rows, others             uint64
	rowsBefore, othersBefore int32
}

// of returns the number of a vertex that the chunk reads.
func (x *indexer) of(u graph.NodeID) int32 {
	w, bit := &x.words[u>>6], uint64(1)<<(u&63)
	if w.rows&bit != 0 {
		return w.rowsBefore + int32(bits.OnesCount64(w.rows&(bit-1)))
	}
	return w.othersBefore + int32(bits.OnesCount64(w.others&(bit-1)))
}
