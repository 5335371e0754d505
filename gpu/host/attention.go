package host

import "sort"

// attention is one worker's workspace for GAT operations on a range of rows.
type attention struct {
	inner, halo strip
	heads       []float32 // one number per head
}

// ahead is how many entries before its use a gathered row is prefetched: two rows of 1 KiB take about a memory latency.
const ahead = 2

// strip is a range of rows of a sparse matrix, numbered from 0, with a weight per entry and head. Entries are not copied.
type strip struct {
	sparse
	weight     []float32 // entry e of head h: weight[h·span + e]
	span       int       // entries from the first row's first to the last row's last, gaps included
	k          int       // cursor: no stored row before k is needed any more
	begin, end []int64   // storage of sparse.begin and end
	list       []int32   // storage of sparse.list
}

// attentions returns every worker's workspace, with room for a number per head.
func (d *Device) attentions(heads int) []attention {
	if d.work.att == nil {
		d.work.att = make([]attention, d.pool.threads)
	}
	for i := range d.work.att {
		grown(&d.work.att[i].heads, heads)
		d.work.att[i].heads = d.work.att[i].heads[:heads]
	}
	return d.work.att
}

// cut makes s rows [lo, hi) of a, with room for heads weights per entry; heads = 0: no weights.
func (s *strip) cut(a sparse, lo, hi, heads int) {
	k0, k1 := a.find(lo), a.find(hi)
	s.sparse = sparse{rows: hi - lo, cols: a.cols}
	s.span, s.k = 0, 0
	if k0 == k1 {
		return
	}
	e0, e1 := a.begin[k0], a.end[k1-1]
	s.span = int(e1 - e0)
	s.idx = a.idx[e0:e1]
	b, e := grown(&s.begin, k1-k0), grown(&s.end, k1-k0)
	for k := k0; k < k1; k++ {
		b[k-k0], e[k-k0] = a.begin[k]-e0, a.end[k]-e0
	}
	s.sparse.begin, s.sparse.end = b, e
	s.entries = e1 - e0
	if a.list != nil {
		l := grown(&s.list, k1-k0)
		for k, r := range a.list[k0:k1] {
			l[k] = r - int32(lo)
		}
		s.sparse.list = l
	}
	grown(&s.weight, heads*s.span)
	s.weight = s.weight[:heads*s.span]
}

// row returns the entries of row i; rows are asked for in ascending order until rewind.
func (s *strip) row(i int) (from, to int) {
	begin, end, list := s.sparse.begin, s.sparse.end, s.sparse.list
	if list == nil {
		if len(begin) == 0 {
			return 0, 0
		}
		return int(begin[i]), int(end[i])
	}
	for s.k < len(list) && int(list[s.k]) < i {
		s.k++
	}
	if s.k == len(list) || int(list[s.k]) != i {
		return 0, 0
	}
	return int(begin[s.k]), int(end[s.k])
}

// coming returns row idx[e+ahead] of m, nil behind the last entry. An entry between rows may be no column of the matrix.
func (s *strip) coming(e int, m dense) []float32 {
	if e+ahead >= len(s.idx) || int(s.idx[e+ahead]) >= m.rows {
		return nil
	}
	return m.row(int(s.idx[e+ahead]))
}

// sum: for each head h and row i, y[i][hC+c] = Σ_e weight·x[idx[e]][hC+c], or += if accumulate.
func (s *strip) sum(serial *pool, y, x dense, heads int, accumulate bool) {
	if s.span == 0 {
		if !accumulate {
			for i := range y.rows {
				clear(y.row(i))
			}
		}
		return
	}
	c := y.cols / heads
	for h := range heads {
		a := s.sparse
		a.val = s.weight[h*s.span : (h+1)*s.span]
		spmm(serial, y.columns(h*c, c), a, x.columns(h*c, c), dense16{}, nil, nil, accumulate)
	}
}

// columns returns n columns of m from column lo on.
func (m dense) columns(lo, n int) dense {
	if m.empty() {
		return dense{nil, m.rows, n, m.ld}
	}
	return dense{m.v[lo:], m.rows, n, m.ld}
}

// part returns rows lo to hi of m.
func (m dense) part(lo, hi int) dense {
	if m.empty() {
		return dense{nil, hi - lo, m.cols, m.ld}
	}
	return dense{m.v[lo*m.ld:], hi - lo, m.cols, m.ld}
}

// find returns the first stored row whose matrix row is at least v.
func (a sparse) find(v int) int {
	if a.list == nil {
		return min(v, len(a.begin))
	}
	return sort.Search(len(a.list), func(k int) bool { return int(a.list[k]) >= v })
}

// before returns the entries stored before matrix row v, gaps included.
func (a sparse) before(v int) int64 {
	k := a.find(v)
	switch {
	case len(a.begin) == 0:
		return 0
	case k == len(a.begin):
		return a.end[k-1] - a.begin[0]
	}
	return a.begin[k] - a.begin[0]
}

const (
	gatChunk   = 4 << 10 // work of one range of rows, in entries: its weights stay in L2
	gatRowCost = 8       // work of a row beside its entries, in entries
)

// ranges calls f for ranges of rows [lo, hi) of two matrices with the same rows, of about equal work each. A row's result
// must not depend on its range.
func (d *Device) ranges(a, b sparse, lo, hi int, f func(worker, lo, hi int)) {
	work := func(v int) int64 {
		return a.before(v) - a.before(lo) + b.before(v) - b.before(lo) + int64(v-lo)*gatRowCost
	}
	total := work(hi)
	n := int(min(total/gatChunk+1, int64(hi-lo)))
	border := func(i int) int {
		if i == n {
			return hi
		}
		want := total / int64(n) * int64(i)
		return lo + sort.Search(hi-lo, func(r int) bool { return work(lo+r) >= want })
	}
	d.pool.each(n, func(w, i int) {
		if first, last := border(i), border(i+1); first < last {
			f(w, first, last)
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
