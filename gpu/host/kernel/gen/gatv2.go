package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// gatv2Kernels writes attention whose scores are of sums of rows, over the segments and with the weights of gatKernels.
func gatv2Kernels(w *writer) {
	c := newGatConstants(w)
	w.both(func() {
		gatv2Scores(w, false)
		gatv2Scores(w, true)
		gatSoftmax(w, c, true)
		gatv2GradDst(w, c)
		gatv2GradSrc(w, c)
		for n := 1; n <= gatv2Vectors[w.wide]; n++ {
			gatv2Slopes(w, n, true)
			gatv2Slopes(w, n, false)
		}
	})
}

// gatv2Vectors are the widest windows of columns of the slope kernels in vectors.
var gatv2Vectors = map[bool]int{true: 4, false: 2}

// gatv2Scores computes, for each segment and head:
//
//	w0[e] = Σ_c att[hC+c]·leaky(x[idx[e]][hC+c] + xrow[row][hC+c]);  w1[e] = Σ_c y[idx[e]][hC+c]·yrow[row][hC+c]
//
// or w0 alone. whole is the bytes of a head's whole vectors, rest those behind them, step those of an entry's weights. While entry e is computed, the rows of entry e+ahead are prefetched: idx must be readable that far behind a segment.
func gatv2Scores(w *writer, both bool) {
	name, arrays := "scores", "x *float32, ldx uintptr, xrow *float32, ldxrow uintptr, w0 *float32"
	if both {
		name, arrays = "scores2", arrays+", y *float32, ldy uintptr, yrow *float32, ldyrow uintptr, w1 *float32"
	}
	w.begin(w.name("gatv2", name), "computes scores, see gen/gatv2.go.",
		"func(seg *int64, count int, idx *int32, ahead int, heads, whole, rest, step uintptr, slope float32, att *float32, "+arrays+")")
	s := &gatv2Scorer{writer: w, both: both, slope: w.broadcastArg("slope"), seg: w.arg("seg"), att: w.arg("att")}
	rest := w.arg("rest")
	w.SHRQ(operand.Imm(2), rest)
	s.tail = w.firstLanes(rest)
	count := w.arg("count")
	w.Label("segment")
	s.segment()
	w.ADDQ(operand.Imm(segSize), s.seg)
	w.DECQ(count)
	w.JNZ(operand.LabelRef("segment"))
	w.end()
}

// gatv2Scorer is what the parts of a score kernel share: addresses of an entry's rows and of the rows that are prefetched, of the segment's
// rows, and the byte offset of a column.
type gatv2Scorer struct {
	*writer
	both       bool
	slope      vec
	tail       mask
	seg, att   gp
	of, row    [2]gp
	next       [2]gp
	weights, j gp
}

func (s *gatv2Scorer) field(at int) gp {
	r := s.GP64()
	s.MOVQ(mem{Base: s.seg, Disp: at}, r)
	return r
}

func (s *gatv2Scorer) segment() {
	arrays := []string{"x", "y"}
	if !s.both {
		arrays = arrays[:1]
	}
	left := s.field(segN)
	s.TESTQ(left, left)
	s.JZ(operand.LabelRef("none"))
	e := s.field(segFrom)
	s.SHLQ(operand.Imm(2), e)
	s.ADDQ(s.address("idx"), e)
	s.weights = s.field(segAt)
	for i, a := range arrays {
		s.row[i] = s.field(segRow)
		s.IMULQ(s.address("ld"+a+"row"), s.row[i])
		s.ADDQ(s.address(a+"row"), s.row[i])
	}
	s.Label("entry")
	ahead := s.arg("ahead")
	for i, a := range arrays {
		s.of[i], s.next[i] = s.GP64(), s.GP64()
		s.MOVLQSX(mem{Base: e}, s.of[i])
		s.MOVLQSX(mem{Base: e, Index: ahead, Scale: 4}, s.next[i])
		for _, p := range []gp{s.of[i], s.next[i]} {
			s.IMULQ(s.address("ld"+a), p)
			s.ADDQ(s.address(a), p)
		}
	}
	s.entry()
	s.ADDQ(s.address("step"), s.weights)
	s.ADDQ(operand.Imm(4), e)
	s.DECQ(left)
	s.JNZ(operand.LabelRef("entry"))
	s.Label("none")
}

// entry computes the scores of an entry, head by head.
func (s *gatv2Scorer) entry() {
	h := s.GP64()
	s.j = s.GP64()
	s.XORQ(s.j, s.j)
	s.XORQ(h, h)
	s.Label("head")
	sums, stop := s.vecs(2), s.GP64()
	s.zero(sums...)
	s.MOVQ(s.address("whole"), stop)
	s.ADDQ(s.j, stop)
	s.CMPQ(s.j, stop)
	s.JE(operand.LabelRef("rest"))
	s.Label("vector")
	s.columns(nil, sums)
	s.ADDQ(operand.Imm(uint64(s.size())), s.j)
	s.CMPQ(s.j, stop)
	s.JNE(operand.LabelRef("vector"))
	s.Label("rest")
	s.CMPQ(s.address("rest"), operand.Imm(0))
	s.JE(operand.LabelRef("summed"))
	s.columns(s.tail, sums)
	s.ADDQ(s.address("rest"), s.j)
	s.Label("summed")
	for i := range 2 {
		if i == 1 && !s.both {
			break
		}
		at := s.arg(fmt.Sprintf("w%d", i))
		s.ADDQ(s.weights, at)
		s.sum(sums[i])
		s.VMOVSS(sums[i].AsX(), mem{Base: at, Index: h, Scale: 4})
	}
	s.INCQ(h)
	s.CMPQ(h, s.address("heads"))
	s.JNE(operand.LabelRef("head"))
}

// columns adds a vector of columns to the sums, or with k its lanes.
func (s *gatv2Scorer) columns(k mask, sums []vec) {
	at := func(p gp) mem { return mem{Base: p, Index: s.j, Scale: 1} }
	t, u := s.vec(), s.vec()
	s.PREFETCHT0(at(s.next[0]))
	s.load(at(s.of[0]), k, t)
	s.addFrom(at(s.row[0]), k, t, u)
	s.VMULPS(s.slope, t, u)
	s.VMAXPS(u, t, t)
	s.product(at(s.att), k, t, sums[0])
	if s.both {
		s.PREFETCHT0(at(s.next[1]))
		v := s.vec()
		s.load(at(s.of[1]), k, v)
		s.product(at(s.row[1]), k, v, sums[1])
	}
}

// product adds v·m to sum, or with k its lanes.
func (s *gatv2Scorer) product(m mem, k mask, v, sum vec) {
	if k == nil {
		s.VFMADD231PS(m, v, sum)
		return
	}
	u := s.vec()
	s.load(m, k, u)
	s.VFMADD231PS(u, v, sum)
}

// gatv2GradDst computes, for each segment and head: w1[e] = exp(w0[e] - lse[row])·(w1[e] - grad[row]).
func gatv2GradDst(w *writer, c gatConstants) {
	w.begin(w.name("gatv2", "gradDst"), "computes gradients of scores by destination, see gen/gatv2.go.",
		"func(seg *int64, count int, lse *float32, ldlse uintptr, grad *float32, ldgrad uintptr, heads, stride int, w0, w1 *float32)")
	s := startHeads(w, c)
	s.segments(func() {
		w1 := s.weights()
		s.bounds()
		lse, grad := s.spread("lse", "ldlse"), s.spread("grad", "ldgrad")
		s.each("weight", func(j gp, _ mask) {
			x, q, m := w.vec(), w.vec(), mem{Base: w1, Index: j, Scale: 1}
			w.VMOVUPS(mem{Base: s.w, Index: j, Scale: 1}, x)
			w.VSUBPS(lse, x, x)
			w.exp(c, x)
			w.VMOVUPS(m, q)
			w.VSUBPS(grad, q, q)
			w.VMULPS(q, x, x)
			w.VMOVUPS(x, m)
		})
	})
}

// weights leaves the address of the segment's weights in w, and returns that of its second ones.
func (s *heads) weights() gp {
	at, w1 := s.field(segAt), s.arg("w1")
	s.w = s.arg("w0")
	s.ADDQ(at, s.w)
	s.ADDQ(at, w1)
	return w1
}

// gatv2GradSrc computes, for each segment and head, with v = idx[e]: w0[e] = exp(w0[e] - lse[v]); w1[e] = w0[e]·(w1[e] - grad[v]). w2 and w3
// are room for as many numbers.
func gatv2GradSrc(w *writer, c gatConstants) {
	w.begin(w.name("gatv2", "gradSrc"), "computes weights and gradients of scores by source, see gen/gatv2.go.",
		"func(seg *int64, count int, idx *int32, lse *float32, ldlse uintptr, grad *float32, ldgrad uintptr, heads, stride int, "+
			"w0, w1, w2, w3 *float32)")
	s := startHeads(w, c)
	s.segments(func() {
		s.gather([]string{"lse", "grad"}, []string{"ldlse", "ldgrad"}, []string{"w2", "w3"})
		w1 := s.weights()
		s.bounds()
		at, w2, w3 := s.field(segAt), w.arg("w2"), w.arg("w3")
		w.ADDQ(at, w2)
		w.ADDQ(at, w3)
		s.each("weight", func(j gp, _ mask) {
			in := func(p gp) mem { return mem{Base: p, Index: j, Scale: 1} }
			x, q := w.vec(), w.vec()
			w.VMOVUPS(in(s.w), x)
			w.VSUBPS(in(w2), x, x)
			w.exp(c, x)
			w.VMOVUPS(x, in(s.w))
			w.VMOVUPS(in(w1), q)
			w.VSUBPS(in(w3), q, q)
			w.VMULPS(x, q, q)
			w.VMOVUPS(q, in(w1))
		})
	})
}

// gatv2Slopes computes n vectors of columns of each segment's row. With head(j) the head of a column and s = x[idx[e]][j] + xrow[row][j]:
//
//	sum[row][j] += att[j]·Σ_e w1[e][head(j)]·leaky'(s)
//
// or with moment, over all segments of the row, with p and all the sums of w1 where s > 0 and everywhere, and q the smaller one of p and p - all:
//
//	sum[row][j] = att[j]·(1 - slope)·q;  moment[row][j] = Σ_e w1[e][head(j)]·leaky(s)
//
// Between the row's segments sum holds p. head, step and last are as in gatSum.
func gatv2Slopes(w *writer, n int, moment bool) {
	name, arrays := fmt.Sprintf("slopes%d", n), "w1, sum *float32, ldsum uintptr"
	if moment {
		name, arrays = fmt.Sprintf("moments%d", n), arrays+", all *float32, ldall uintptr, moment *float32, ldmoment uintptr"
	}
	w.begin(w.name("gatv2", name), fmt.Sprintf("makes rows of gradients of scores, %d vectors of columns, see gen/gatv2.go.", n),
		"func(seg *int64, count int, idx *int32, x *float32, ldx uintptr, xrow *float32, ldxrow uintptr, head *int32, step uintptr, last int, "+
			"slope float32, att *float32, "+arrays+")")
	s := &gatv2Sloper{gatSummer: gatSummer{heads: heads{writer: w, seg: w.arg("seg"), count: w.arg("count"), slope: w.broadcastArg("slope")}, n: n}, moment: moment}
	s.tail = w.firstLanes(w.arg("last"))
	s.table = w.arg("head")
	for i := range n {
		v := w.vec()
		w.VMOVUPS(mem{Base: s.table, Disp: w.size() * i}, v)
		s.head = append(s.head, v)
	}
	s.segments(s.segment)
}

type gatv2Sloper struct {
	gatSummer
	moment bool
}

// arrays are what sums are kept in.
func (s *gatv2Sloper) arrays() []string {
	if s.moment {
		return []string{"sum", "all", "moment"}
	}
	return []string{"sum"}
}

func (s *gatv2Sloper) segment() {
	s.sums = nil
	for range s.arrays() {
		v := s.vecs(s.n)
		s.zero(v...)
		s.sums = append(s.sums, v)
	}
	left := s.field(segN)
	s.TESTQ(left, left)
	s.JZ(operand.LabelRef("summed"))
	e, row, weights := s.field(segFrom), s.field(segRow), s.field(segAt)
	s.SHLQ(operand.Imm(2), e)
	s.ADDQ(s.address("idx"), e)
	s.IMULQ(s.address("ldxrow"), row)
	s.ADDQ(s.address("xrow"), row)
	s.ADDQ(s.address("w1"), weights)
	x, ldx, step := s.arg("x"), s.arg("ldx"), s.arg("step")
	s.Label("entry")
	p := s.GP64()
	s.MOVLQSX(mem{Base: e}, p)
	s.IMULQ(ldx, p)
	s.ADDQ(x, p)
	s.slopes(weights, p, row)
	s.ADDQ(step, weights)
	s.ADDQ(operand.Imm(4), e)
	s.DECQ(left)
	s.JNZ(operand.LabelRef("entry"))
	s.Label("summed")
	if !s.moment {
		s.times(s.sums[0], nil)
		s.put(0, true)
		return
	}
	first := s.field(segFlags)
	s.TESTQ(operand.U32(segFirst), first)
	s.JNZ(operand.LabelRef("first"))
	for i := range s.sums {
		s.put(i, true)
	}
	s.JMP(operand.LabelRef("kept"))
	s.Label("first")
	for i := range s.sums {
		s.put(i, false)
	}
	s.Label("kept")
	s.unless(segLast, "done")
	s.smaller()
	one, t := s.broadcastConst(0x3f800000), s.vec()
	s.VSUBPS(s.slope, one, t)
	s.times(s.sums[0], t)
	s.put(0, false)
	s.Label("done")
}

// slopes adds an entry's columns to the sums.
func (s *gatv2Sloper) slopes(weights, p, row gp) {
	all := s.vec()
	s.VMOVUPS(mem{Base: weights}, all)
	for i := range s.n {
		m, k := s.column(p, i)
		t, u, g := s.vec(), s.vec(), s.vec()
		s.load(m, k, t)
		m, _ = s.column(row, i)
		s.addFrom(m, k, t, u)
		s.VPERMPS(all, s.head[i], u)
		positive := s.positive(t)
		if !s.moment {
			s.VMULPS(s.slope, u, g)
			g = s.choose(positive, u, g)
			s.VADDPS(g, s.sums[0][i], s.sums[0][i])
			continue
		}
		s.VADDPS(u, s.sums[1][i], s.sums[1][i])
		s.VMULPS(s.slope, t, g)
		s.VMAXPS(g, t, t)
		s.VFMADD231PS(t, u, s.sums[2][i])
		s.clip(positive, u)
		s.VADDPS(u, s.sums[0][i], s.sums[0][i])
	}
}

// smaller leaves in the first sums the smaller ones of p and p - all.
func (s *gatv2Sloper) smaller() {
	const less = 0x11 // ordered, quiet
	size := s.broadcastConst(0x7fffffff)
	for i, p := range s.sums[0] {
		q, a, b := s.vec(), s.vec(), s.vec()
		s.VSUBPS(s.sums[1][i], p, q)
		if s.writer.wide {
			s.VPANDD(size, p, a)
			s.VPANDD(size, q, b)
			k := s.K()
			s.VCMPPS(operand.Imm(less), a, b, k)
			s.VMOVAPS(q, k, p)
			continue
		}
		s.VPAND(size, p, a)
		s.VPAND(size, q, b)
		s.VCMPPS(operand.Imm(less), a, b, a)
		s.VBLENDVPS(a, q, p, p)
	}
}

// times multiplies v by att, and by factor if given.
func (s *gatv2Sloper) times(v []vec, factor vec) {
	att := s.arg("att")
	for i, x := range v {
		m, k := s.column(att, i)
		a := s.vec()
		s.load(m, k, a)
		if factor != nil {
			s.VMULPS(factor, x, x)
		}
		s.VMULPS(a, x, x)
	}
}

// put keeps sums of one array, with added on top of what is there.
func (s *gatv2Sloper) put(array int, added bool) {
	name := s.arrays()[array]
	p, t := s.field(segRow), s.vec()
	s.IMULQ(s.address("ld"+name), p)
	s.ADDQ(s.address(name), p)
	for i, x := range s.sums[array] {
		m, k := s.column(p, i)
		if added {
			s.addFrom(m, k, x, t)
		}
		s.store(x, k, m)
	}
}
