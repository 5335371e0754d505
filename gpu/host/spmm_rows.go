package host

import (
	"fmt"
	"sort"
)

// spmm16: Y = A·X, Y in bf16: blocks of rows are made in float32 and then rounded.
func spmm16(p *pool, sc *scratch, y either, a sparse, x either) {
	rows, cols := y.size()
	whole := spmmArgs{y: dense{nil, rows, cols, cols}, a: a, x: x.d32, x16: x.d16}
	nothing := len(a.begin) == 0 || len(a.idx) == 0 || x.d32.v == nil && x.d16.v == nil
	if !nothing {
		whole.check()
	}
	step := max(1, grain/cols)
	room, lists := p.own(&sc.blocks, step*cols), grown(&sc.list, p.threads*step)
	p.rows(rows, cols, func(worker, lo, hi int) {
		part := whole
		part.y = y.draft(lo, hi, room.of(worker))
		part.a = a.rowRange(lo, hi, lists[worker*step:(worker+1)*step])
		if nothing || len(part.a.begin) == 0 {
			zeroRows(part.y, 0, part.y.rows)
		} else {
			part.stored(0, len(part.a.begin))
		}
		y.store(lo, part.y)
	})
}

// rowRange returns matrix rows lo to hi of a, numbered from 0. list holds their numbers if a lists its rows.
func (a sparse) rowRange(lo, hi int, list []int32) sparse {
	k0, k1 := a.find(lo), a.find(hi)
	part := sparse{begin: a.begin[k0:k1], end: a.end[k0:k1], idx: a.idx, val: a.val, rows: hi - lo, cols: a.cols}
	if k0 < k1 {
		part.entries = a.end[k1-1] - a.begin[k0]
	}
	if a.list != nil {
		part.list = list[:k1-k0]
		for k, r := range a.list[k0:k1] {
			part.list[k] = r - int32(lo)
		}
	}
	return part
}

// spmmArgs is one product of a sparse and a dense matrix, as the row kernels see it.
type spmmArgs struct {
	y          dense
	a          sparse
	x          dense
	x16        dense16 // instead of x where x.v is nil
	rowScale   []float32
	colScale   []float32
	accumulate bool
}

// Cost of a row beside its entries, in entries, and the work of one item: about 1 ms at 60 M entries/s and 256 columns.
const (
	spmmRowCost = 8
	spmmItem    = 16 << 10
)

// spmm is gpu.AggregateArgs without bias and epilogue: for every stored row k with matrix row r
//
//	t[j] = Σ_e val[e]·cs[idx[e]]·x[idx[e]][j]      (entries in order);  y[r][j] = rs[r]·t[j] (+ y[r][j] if accumulate)
//
// and rows that are not stored become 0 unless accumulate. x16 (bf16, sums in fp32) is used where x.v is nil. Work items
// are ranges of rows with about equally many entries; a row's sum never depends on them. Indices must be valid rows of x:
// the assembly does not check each of them.
//
// If after is not nil, it is called with every range of rows of y once these are final, by the worker that has made them and
// while they are in its cache; the ranges cover all rows of y, stored or not.
func spmm(p *pool, sc *scratch, y dense, a sparse, x dense, x16 dense16, rowScale, colScale []float32, accumulate bool,
	after func(worker, lo, hi int)) {
	if y.cols == 0 || y.rows == 0 {
		return
	}
	args := &spmmArgs{y, a, x, x16, rowScale, colScale, accumulate}
	stored := len(a.begin)
	if stored == 0 || len(a.idx) == 0 || x.v == nil && x16.v == nil { // no entries: they would have nothing to point to
		args.empty(p, after)
		return
	}
	args.check()
	if args.scattered(&sc.spmm) {
		args.inPanels(p, &sc.spmm, after)
	} else {
		args.run(p, after)
	}
}

// run shares out the stored rows. There is at least one, and an entry.
func (s *spmmArgs) run(p *pool, after func(worker, lo, hi int)) {
	begin, stored := s.a.begin, len(s.a.begin)
	total := s.a.end[stored-1] - begin[0] + int64(stored)*spmmRowCost
	items := int(min((total+spmmItem-1)/spmmItem, int64(stored)))
	if items < 8*p.threads {
		items = min(8*p.threads, stored, int(total/512)+1)
	}
	p.each(items, func(worker, i int) {
		k0, k1 := splitRows(begin, total, i, items), splitRows(begin, total, i+1, items)
		if after == nil {
			s.stored(k0, k1)
			return
		}
		for step := max(1, grain/s.y.cols); k0 < k1; k0 += step {
			k := min(k0+step, k1)
			s.stored(k0, k)
			after(worker, s.rowOf(k0), s.rowOf(k))
		}
	})
}

// empty is spmm without entries.
func (s *spmmArgs) empty(p *pool, after func(worker, lo, hi int)) {
	if s.accumulate && after == nil {
		return
	}
	step := max(1, grain/s.y.cols)
	p.each((s.y.rows+step-1)/step, func(worker, i int) {
		lo, hi := i*step, min((i+1)*step, s.y.rows)
		if !s.accumulate {
			zeroRows(s.y, lo, hi)
		}
		if after != nil {
			after(worker, lo, hi)
		}
	})
}

// stored computes stored rows k0 to k1 of y and, unless y is added to, clears those around them that are not stored.
func (s *spmmArgs) stored(k0, k1 int) {
	if k0 == k1 {
		return
	}
	if !s.accumulate {
		s.zeroMissing(k0, k1)
	}
	s.rows(k0, k1)
}

// rowOf returns the first row of y behind those of the stored rows before k: where the range of stored rows from k begins.
func (s *spmmArgs) rowOf(k int) int {
	switch {
	case k == 0:
		return 0
	case k == len(s.a.begin):
		return s.y.rows
	case s.a.list == nil:
		return k
	}
	return int(s.a.list[k-1]) + 1
}

// check panics if an array is too short for the others. At least one row is stored and y has elements.
func (s *spmmArgs) check() {
	stored := len(s.a.begin)
	rows, entries := stored, s.a.end[stored-1]
	if s.a.list != nil {
		rows = int(s.a.list[stored-1]) + 1
	}
	if len(s.a.end) != stored || s.a.list != nil && len(s.a.list) != stored || rows > s.y.rows ||
		entries > int64(len(s.a.idx)) || s.a.val != nil && entries > int64(len(s.a.val)) ||
		s.rowScale != nil && len(s.rowScale) < rows || s.colScale != nil && len(s.colScale) < s.a.cols {
		panic(fmt.Sprintf("host: spmm of %d rows and %d entries: arrays of %d begins, %d ends, %d rows, %d indices, %d values, "+
			"%d and %d scales; result of %d rows", rows, entries, stored, len(s.a.end), len(s.a.list), len(s.a.idx),
			len(s.a.val), len(s.rowScale), len(s.colScale), s.y.rows))
	}
	if x := max(s.x.rows, s.x16.rows); s.a.entries > 0 && (x < s.a.cols || max(s.x.cols, s.x16.cols) < s.y.cols) {
		panic(fmt.Sprintf("host: spmm of %d×%d with %d rows into %d columns", s.a.rows, s.a.cols, x, s.y.cols))
	}
}

// splitRows returns the stored row where item i of n begins: the first one with i/n of the total work before it.
func splitRows(begin []int64, total int64, i, n int) int {
	if i == n {
		return len(begin)
	}
	want := total / int64(n) * int64(i)
	return sort.Search(len(begin), func(k int) bool { return begin[k]-begin[0]+int64(k)*spmmRowCost >= want })
}

// zeroMissing clears the rows of y that are not stored and lie before a row of [k0, k1), and for the last range those
// behind it.
func (s *spmmArgs) zeroMissing(k0, k1 int) {
	next := k1
	if s.a.list != nil {
		next = s.rowOf(k0)
		for _, r := range s.a.list[k0:k1] {
			zeroRows(s.y, next, int(r))
			next = int(r) + 1
		}
	}
	if k1 == len(s.a.begin) {
		zeroRows(s.y, next, s.y.rows)
	}
}

func zeroRows(y dense, lo, hi int) {
	for i := lo; i < hi; i++ {
		clear(y.v[i*y.ld : i*y.ld+y.cols])
	}
}
