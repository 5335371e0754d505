package kernel

import (
	"fmt"
	"sort"

	"capgnn/gpu/host/workers"
)

// SpMM16: Y = A·X, Y in bf16: blocks of rows are made in float32 and then rounded.
func SpMM16(p *workers.Pool, sc *Scratch, y Either, a Sparse, x Either) {
	rows, cols := y.Size()
	whole := spmmArgs{y: Dense{nil, rows, cols, cols}, a: a, x: x.D32, x16: x.D16}
	nothing := len(a.Begin) == 0 || len(a.Idx) == 0 || x.D32.V == nil && x.D16.V == nil
	if !nothing {
		whole.check()
	}
	step := max(1, workers.Grain/cols)
	room, lists := p.Own(&sc.blocks, step*cols), workers.Grown(&sc.list, p.Threads*step)
	p.Rows(rows, cols, func(worker, lo, hi int) {
		part := whole
		part.y = y.Draft(lo, hi, room.Of(worker))
		part.a = a.rowRange(lo, hi, lists[worker*step:(worker+1)*step])
		if nothing || len(part.a.Begin) == 0 {
			zeroRows(part.y, 0, part.y.Rows)
		} else {
			part.stored(0, len(part.a.Begin))
		}
		y.Store(lo, part.y)
	})
}

// rowRange returns matrix rows lo to hi of a, numbered from 0. list holds their numbers if a lists its rows.
func (a Sparse) rowRange(lo, hi int, list []int32) Sparse {
	k0, k1 := a.find(lo), a.find(hi)
	part := Sparse{Begin: a.Begin[k0:k1], End: a.End[k0:k1], Idx: a.Idx, Val: a.Val, Rows: hi - lo, Cols: a.Cols}
	if k0 < k1 {
		part.Entries = a.End[k1-1] - a.Begin[k0]
	}
	if a.List != nil {
		part.List = list[:k1-k0]
		for k, r := range a.List[k0:k1] {
			part.List[k] = r - int32(lo)
		}
	}
	return part
}

// spmmArgs is one product of a sparse and a dense matrix, as the row kernels see it.
type spmmArgs struct {
	y          Dense
	a          Sparse
	x          Dense
	x16        Dense16 // instead of x where x.v is nil
	rowScale   []float32
	colScale   []float32
	accumulate bool
}

// Cost of a row beside its entries, in entries, and the work of one item: about 1 ms at 60 M entries/s and 256 columns.
const (
	spmmRowCost = 8
	spmmItem    = 16 << 10
)

// SpMM is gpu.AggregateArgs without bias and epilogue: for every stored row k with matrix row r
//
//	t[j] = Σ_e val[e]·cs[idx[e]]·x[idx[e]][j]      (entries in order);  y[r][j] = rs[r]·t[j] (+ y[r][j] if accumulate)
//
// and rows that are not stored become 0 unless accumulate. x16 (bf16, sums in fp32) is used where x.v is nil. Work items
// are ranges of rows with about equally many entries; a row's sum never depends on them. Indices must be valid rows of x:
// the assembly does not check each of them.
//
// If after is not nil, it is called with every range of rows of y once these are final, by the worker that has made them and
// while they are in its cache; the ranges cover all rows of y, stored or not.
func SpMM(p *workers.Pool, sc *Scratch, y Dense, a Sparse, x Dense, x16 Dense16, rowScale, colScale []float32, accumulate bool,
	after func(worker, lo, hi int)) {
	if y.Cols == 0 || y.Rows == 0 {
		return
	}
	args := &spmmArgs{y, a, x, x16, rowScale, colScale, accumulate}
	stored := len(a.Begin)
	if stored == 0 || len(a.Idx) == 0 || x.V == nil && x16.V == nil { // no entries: they would have nothing to point to
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
func (s *spmmArgs) run(p *workers.Pool, after func(worker, lo, hi int)) {
	begin, stored := s.a.Begin, len(s.a.Begin)
	total := s.a.End[stored-1] - begin[0] + int64(stored)*spmmRowCost
	items := int(min((total+spmmItem-1)/spmmItem, int64(stored)))
	if items < 8*p.Threads {
		items = min(8*p.Threads, stored, int(total/512)+1)
	}
	p.Each(items, func(worker, i int) {
		k0, k1 := splitRows(begin, total, i, items), splitRows(begin, total, i+1, items)
		if after == nil {
			s.stored(k0, k1)
			return
		}
		for step := max(1, workers.Grain/s.y.Cols); k0 < k1; k0 += step {
			k := min(k0+step, k1)
			s.stored(k0, k)
			after(worker, s.rowOf(k0), s.rowOf(k))
		}
	})
}

// empty is spmm without entries.
func (s *spmmArgs) empty(p *workers.Pool, after func(worker, lo, hi int)) {
	if s.accumulate && after == nil {
		return
	}
	step := max(1, workers.Grain/s.y.Cols)
	p.Each((s.y.Rows+step-1)/step, func(worker, i int) {
		lo, hi := i*step, min((i+1)*step, s.y.Rows)
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
	case k == len(s.a.Begin):
		return s.y.Rows
	case s.a.List == nil:
		return k
	}
	return int(s.a.List[k-1]) + 1
}

// check panics if an array is too short for the others. At least one row is stored and y has elements.
func (s *spmmArgs) check() {
	stored := len(s.a.Begin)
	rows, entries := stored, s.a.End[stored-1]
	if s.a.List != nil {
		rows = int(s.a.List[stored-1]) + 1
	}
	if len(s.a.End) != stored || s.a.List != nil && len(s.a.List) != stored || rows > s.y.Rows ||
		entries > int64(len(s.a.Idx)) || s.a.Val != nil && entries > int64(len(s.a.Val)) ||
		s.rowScale != nil && len(s.rowScale) < rows || s.colScale != nil && len(s.colScale) < s.a.Cols {
		panic(fmt.Sprintf("kernel: spmm of %d rows and %d entries: arrays of %d begins, %d ends, %d rows, %d indices, %d values, "+
			"%d and %d scales; result of %d rows", rows, entries, stored, len(s.a.End), len(s.a.List), len(s.a.Idx),
			len(s.a.Val), len(s.rowScale), len(s.colScale), s.y.Rows))
	}
	if x := max(s.x.Rows, s.x16.Rows); s.a.Entries > 0 && (x < s.a.Cols || max(s.x.Cols, s.x16.Cols) < s.y.Cols) {
		panic(fmt.Sprintf("kernel: spmm of %d×%d with %d rows into %d columns", s.a.Rows, s.a.Cols, x, s.y.Cols))
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
	if s.a.List != nil {
		next = s.rowOf(k0)
		for _, r := range s.a.List[k0:k1] {
			zeroRows(s.y, next, int(r))
			next = int(r) + 1
		}
	}
	if k1 == len(s.a.Begin) {
		zeroRows(s.y, next, s.y.Rows)
	}
}

func zeroRows(y Dense, lo, hi int) {
	for i := lo; i < hi; i++ {
		clear(y.V[i*y.LD : i*y.LD+y.Cols])
	}
}
