package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// gatVectors are the widths of the sum kernels in vectors, for AVX-512 (true) and AVX2; gatPairVectors those of the kernels
// that make two sums of the same rows.
var (
	gatVectors     = map[bool][]int{true: {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}, false: {1, 2, 3, 4, 5, 6, 8}}
	gatPairVectors = map[bool][]int{true: {1, 2, 3, 4, 5, 6, 7, 8}, false: {1, 2, 3, 4, 5}}
)

// gatSum computes n vectors of columns of each segment's row, with one set of weights or two. With head(j) the head of a
// column, and y one of the results with its weights w:
//
//	t[j] = Σ_e w[e][head(j)]·x[idx[e]][j]
//	y[row][j] = t[j]                                  (+ y[row][j] unless the row's first segment)
//
// and with factors (one set of weights only), as gatSoftmax leaves them:
//
//	y[row][j] = t[j]·factors[row][1][head(j)]         (+ y[row][j]·factors[row][0][head(j)] unless the first segment)
//	y[row][j] += bias[j] with the last segment
//
// head holds the heads of the columns, whole vectors of them. step is the number of bytes of an entry's weights, last the
// number of columns in the last vector. While entry e is added, the row of entry e+ahead is prefetched, line by line and the
// line of its last element, because a row may begin anywhere in a line: idx must be readable that far behind a segment.
func gatSum(w *writer, n, sets int) {
	name, arrays := fmt.Sprintf("sum%d", n), "w0, y0 *float32, ldy0 uintptr, factors, bias *float32"
	if sets == 2 {
		name, arrays = fmt.Sprintf("pair%d", n), "w0, w1, y0 *float32, ldy0 uintptr, y1 *float32, ldy1 uintptr"
	}
	w.begin(w.name("gat", name), fmt.Sprintf("sums %d vectors of columns, see gen/gat_sum.go.", n),
		"func(seg *int64, count int, idx *int32, x *float32, ldx uintptr, head *int32, step uintptr, last, ahead int, "+
			arrays+")")
	s := &gatSummer{heads: heads{writer: w, seg: w.arg("seg"), count: w.arg("count")}, n: n, sets: sets}
	last := w.arg("last")
	s.tail = w.firstLanes(last)
	w.LEAQ(mem{Base: last, Disp: w.lanes()*(n-1) - 1}, last)
	s.last = last
	s.table = w.arg("head")
	inRegisters := 32 - sets*(n+1) - 3
	if !w.wide {
		inRegisters = 16 - sets*(n+1) - 5
	}
	for i := range min(n, max(inRegisters, 0)) {
		v := w.vec()
		w.VMOVUPS(mem{Base: s.table, Disp: w.size() * i}, v)
		s.head = append(s.head, v)
	}
	s.segments(s.segment)
}

// gatSummer is what the parts of a sum kernel share.
type gatSummer struct {
	heads
	n, sets int
	tail    mask  // columns of the last vector
	last    gp    // last column
	table   gp    // head
	head    []vec // the first vectors of it
	sums    [][]vec
}

func (s *gatSummer) segment() {
	s.sums = nil
	for range s.sets {
		v := s.vecs(s.n)
		s.zero(v...)
		s.sums = append(s.sums, v)
	}
	left := s.field(segN)
	s.TESTQ(left, left)
	s.JZ(operand.LabelRef("summed"))
	e, at := s.field(segFrom), s.field(segAt)
	idx := s.arg("idx")
	s.LEAQ(mem{Base: idx, Index: e, Scale: 4}, e)
	var w []gp
	for i := range s.sets {
		p := s.arg(fmt.Sprintf("w%d", i))
		s.ADDQ(at, p)
		w = append(w, p)
	}
	x, ldx, step, ahead := s.arg("x"), s.arg("ldx"), s.arg("step"), s.arg("ahead")
	s.Label("entry")
	p, q := s.GP64(), s.GP64()
	s.MOVLQSX(mem{Base: e}, p)
	s.IMULQ(ldx, p)
	s.ADDQ(x, p)
	s.MOVLQSX(mem{Base: e, Index: ahead, Scale: 4}, q)
	s.IMULQ(ldx, q)
	s.ADDQ(x, q)
	s.PREFETCHT0(mem{Base: q, Index: s.last, Scale: 4})
	s.entry(w, p, q)
	for _, p := range w {
		s.ADDQ(step, p)
	}
	s.ADDQ(operand.Imm(4), e)
	s.DECQ(left)
	s.JNZ(operand.LabelRef("entry"))
	s.Label("summed")
	if s.sets == 2 {
		for i := range s.sets {
			s.result(i)
		}
		return
	}
	factors := s.arg("factors")
	s.TESTQ(factors, factors)
	s.JZ(operand.LabelRef("plain"))
	s.scaled()
	s.JMP(operand.LabelRef("stored"))
	s.Label("plain")
	s.result(0)
	s.Label("stored")
}

// of returns the heads of vector i.
func (s *gatSummer) of(i int) vec {
	if i < len(s.head) {
		return s.head[i]
	}
	v := s.vec()
	s.VMOVUPS(mem{Base: s.table, Disp: s.size() * i}, v)
	return v
}

// column returns vector i of the row at p, and its lanes.
func (s *gatSummer) column(p gp, i int) (mem, mask) {
	m := mem{Base: p, Disp: s.size() * i}
	if i == s.n-1 {
		return m, s.tail
	}
	return m, nil
}

// entry adds the row at p with the weights at w, and prefetches the row at q.
func (s *gatSummer) entry(w []gp, p, q gp) {
	weights := s.vecs(s.sets)
	for i, v := range weights {
		s.VMOVUPS(mem{Base: w[i]}, v)
	}
	for i := range s.n {
		m, k := s.column(p, i)
		if s.wide || i%2 == 0 {
			s.PREFETCHT0(mem{Base: q, Disp: m.Disp})
		}
		head := s.of(i)
		if k == nil && s.sets == 1 {
			alpha := s.vec()
			s.VPERMPS(weights[0], head, alpha)
			s.VFMADD231PS(m, alpha, s.sums[0][i])
			continue
		}
		t := s.vec()
		s.load(m, k, t)
		for set, v := range weights {
			alpha := s.vec()
			s.VPERMPS(v, head, alpha)
			s.VFMADD231PS(t, alpha, s.sums[set][i])
		}
	}
}

// result stores sums of one set; earlier segments' come in.
func (s *gatSummer) result(set int) {
	y := s.field(segRow)
	s.IMULQ(s.arg(fmt.Sprintf("ldy%d", set)), y)
	s.ADDQ(s.arg(fmt.Sprintf("y%d", set)), y)
	first, t, label := s.field(segFlags), s.vec(), fmt.Sprintf("first%d", set)
	s.TESTQ(operand.U32(segFirst), first)
	s.JNZ(operand.LabelRef(label))
	for i, v := range s.sums[set] {
		m, k := s.column(y, i)
		s.addFrom(m, k, v, t)
	}
	s.Label(label)
	for i, v := range s.sums[set] {
		m, k := s.column(y, i)
		s.store(v, k, m)
	}
}

// scaled stores sums times their factors.
func (s *gatSummer) scaled() {
	y := s.field(segRow)
	s.IMULQ(s.arg("ldy0"), y)
	s.ADDQ(s.arg("y0"), y)
	p := s.perRow("factors", 2)
	f, t := s.vec(), s.vec()
	times := func(v vec, i int) {
		s.VPERMPS(f, s.of(i), t)
		s.VMULPS(t, v, v)
	}
	s.VMOVUPS(mem{Base: p, Disp: 4 * gatLanes}, f)
	for i, v := range s.sums[0] {
		times(v, i)
	}
	first := s.field(segFlags)
	s.TESTQ(operand.U32(segFirst), first)
	s.JNZ(operand.LabelRef("onlysum"))
	s.VMOVUPS(mem{Base: p}, f)
	for i, v := range s.sums[0] {
		m, k := s.column(y, i)
		old := s.vec()
		s.load(m, k, old)
		times(old, i)
		s.VADDPS(old, v, v)
	}
	s.Label("onlysum")
	s.unless(segLast, "unbiased")
	bias := s.arg("bias")
	s.TESTQ(bias, bias)
	s.JZ(operand.LabelRef("unbiased"))
	for i, v := range s.sums[0] {
		m, k := s.column(bias, i)
		s.addFrom(m, k, v, t)
	}
	s.Label("unbiased")
	for i, v := range s.sums[0] {
		m, k := s.column(y, i)
		s.store(v, k, m)
	}
}
