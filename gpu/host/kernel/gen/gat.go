package main

import "github.com/mmcloughlin/avo/operand"

// gatKernels writes graph attention. A group of at most one vector of heads is computed at a time; stride is that number of
// heads rounded up to a power of two, and weights lie entry by entry, stride lanes each. So lane l of any vector of weights
// belongs to head l mod stride, and a vector operation serves several entries at once.
//
// The kernels run over segments (package host): entries from to from+n of a row, and the byte offset at of their weights. A
// row's segments end where a vector does; lanes behind the last entry are never used. Arrays of one value per row and lane
// have gatLanes lanes per row for every instruction set.
func gatKernels(w *writer) {
	c := newGatConstants(w)
	w.both(func() {
		gatSoftmax(w, c, false)
		gatWeightsDst(w, c)
		gatWeightsSrc(w, c)
		for _, n := range gatVectors[w.wide] {
			gatSum(w, n, 1)
		}
		for _, n := range gatPairVectors[w.wide] {
			gatSum(w, n, 2)
		}
		gatDots(w)
		gatScoresGrad(w, true)
		gatScoresGrad(w, false)
		gatMean(w)
	})
}

// Layout of host.gatSegment.
const (
	segFrom, segN, segRow, segAt, segFlags, segSize = 0, 8, 16, 24, 32, 40
	segFirst, segLast                               = 1, 2 // flags
	gatLanes                                        = 16
)

// gatSoftmax computes, for each segment and head, with y = leaky(s[idx[e]] + d[row]) and top and sum those of the row's
// segments so far:
//
//	top' = max(top, y);  w[e] = exp(y - top');  sum' = sum·exp(top - top') + Σ w
//	factors[row] = exp(top - top'), 1;  with the row's last segment divided by sum', and lse[row] = top' + log(sum')
//
// or, scored, with y that are in w already. state[row] holds top and sum between a row's segments. So with each segment o = o·factors[0] + (Σ w·t)·factors[1].
func gatSoftmax(w *writer, c gatConstants, scored bool) {
	name, arrays := w.name("gat", "softmax"), "idx *int32, s *float32, lds uintptr, d *float32, ldd uintptr, slope float32, "
	if scored {
		name, arrays = w.name("gatv2", "softmax"), ""
	}
	w.begin(name, "computes the weights of the forward pass, see gen/gat.go.",
		"func(seg *int64, count int, "+arrays+"heads, stride int, w, state, factors, lse *float32, ldlse uintptr)")
	s := startHeads(w, c)
	if !scored {
		s.slope = w.broadcastArg("slope")
	}
	s.segments(func() {
		var d vec
		if scored {
			s.w = s.field(segAt)
			w.ADDQ(w.address("w"), s.w)
		} else {
			s.gather([]string{"s"}, []string{"lds"}, []string{"w"})
			d = s.spread("d", "ldd")
		}
		s.bounds()
		top, old := w.vec(), w.vec()
		w.VMOVUPS(c["lowest"], top)
		s.each("score", func(j gp, k mask) {
			x, m := w.vec(), mem{Base: s.w, Index: j, Scale: 1}
			if scored {
				w.VMOVUPS(m, x)
			} else {
				w.VADDPS(m, d, x)
				s.leaky(x)
			}
			if k != nil {
				t := w.vec()
				w.VMOVUPS(c["lowest"], t)
				x = s.choose(k, x, t)
			}
			w.VMOVUPS(x, m)
			w.VMAXPS(x, top, top)
		})
		s.fold("topfold", top, func(t, v vec) { w.VMAXPS(t, v, v) })
		sum, state := w.vec(), s.perRow("state", 2)
		w.VMOVUPS(c["lowest"], old)
		w.zero(sum)
		first := s.field(segFlags)
		w.TESTQ(operand.U32(segFirst), first)
		w.JNZ(operand.LabelRef("fresh"))
		w.VMOVUPS(mem{Base: state}, old)
		w.VMOVUPS(mem{Base: state, Disp: 4 * gatLanes}, sum)
		w.VMAXPS(old, top, top)
		w.Label("fresh")
		w.VSUBPS(top, old, old)
		w.exp(c, old)
		part := w.vec()
		w.zero(part)
		s.each("power", func(j gp, _ mask) {
			x, m := w.vec(), mem{Base: s.w, Index: j, Scale: 1}
			w.VMOVUPS(m, x)
			w.VSUBPS(top, x, x)
			w.exp(c, x)
			w.VMOVUPS(x, m)
			w.VADDPS(x, part, part)
		})
		s.fold("sumfold", part, func(t, v vec) { w.VADDPS(t, v, v) })
		w.VFMADD213PS(part, old, sum)
		s.finishSoftmax(state, top, sum, old)
	})
}

// finishSoftmax keeps top and sum, or with the row's last segment writes lse, and writes the factors.
func (s *heads) finishSoftmax(state gp, top, sum, old vec) {
	one, factors := s.vec(), s.perRow("factors", 2)
	s.VMOVUPS(s.gatConstants["one"], one)
	s.unless(segLast, "keep")
	s.VDIVPS(sum, one, one)
	s.VMULPS(one, old, old)
	lse := s.log(s.gatConstants, sum)
	s.VADDPS(top, lse, lse)
	p := s.field(segRow)
	s.IMULQ(s.arg("ldlse"), p)
	s.ADDQ(s.arg("lse"), p)
	s.store(lse, s.lanes, mem{Base: p})
	s.Label("keep")
	s.VMOVUPS(top, mem{Base: state})
	s.VMOVUPS(sum, mem{Base: state, Disp: 4 * gatLanes})
	s.VMOVUPS(old, mem{Base: factors})
	s.VMOVUPS(one, mem{Base: factors, Disp: 4 * gatLanes})
}

// gatWeightsDst computes, for each segment and head, with x = s[idx[e]] + d[row]:
//
//	w[e] = exp(leaky(x) - lse[row])·leaky'(x);  less[row] = grad[row]·Σ w   (+ less[row] unless the row's first segment)
func gatWeightsDst(w *writer, c gatConstants) {
	w.begin(w.name("gat", "weightsDst"), "computes the weights of the gradient by destination, see gen/gat.go.",
		"func(seg *int64, count int, idx *int32, s *float32, lds uintptr, d *float32, ldd uintptr, lse *float32, "+
			"ldlse uintptr, grad *float32, ldgrad uintptr, slope float32, heads, stride int, w, less *float32)")
	s := startHeads(w, c)
	s.slope = w.broadcastArg("slope")
	s.segments(func() {
		s.gather([]string{"s"}, []string{"lds"}, []string{"w"})
		s.bounds()
		d, lse, sum := s.spread("d", "ldd"), s.spread("lse", "ldlse"), w.vec()
		w.zero(sum)
		s.each("weight", func(j gp, k mask) {
			x, y, m := w.vec(), w.vec(), mem{Base: s.w, Index: j, Scale: 1}
			w.VADDPS(m, d, x)
			positive := s.leaky(x)
			w.VSUBPS(lse, x, x)
			w.exp(c, x)
			w.VMULPS(s.slope, x, y)
			y = s.choose(positive, x, y)
			s.clip(k, y)
			w.VMOVUPS(y, m)
			w.VADDPS(y, sum, sum)
		})
		s.fold("sumfold", sum, func(t, v vec) { w.VADDPS(t, v, v) })
		w.VMULPS(s.spread("grad", "ldgrad"), sum, sum)
		s.addLess(sum)
	})
}

// addLess stores v as the row's number less, or adds it to that of the row's segments before.
func (s *heads) addLess(v vec) {
	p, first := s.perRow("less", 1), s.field(segFlags)
	s.TESTQ(operand.U32(segFirst), first)
	s.JNZ(operand.LabelRef("fresh"))
	s.VADDPS(mem{Base: p}, v, v)
	s.Label("fresh")
	s.VMOVUPS(v, mem{Base: p})
}

// gatWeightsSrc computes, for each segment and head, with v = idx[e] and x = s[row] + d[v]:
//
//	w0[e] = exp(leaky(x) - lse[v]);  w1[e] = w0[e]·leaky'(x)
//	less[row] = Σ w1·grad[v]                         (+ less[row] unless the row's first segment)
func gatWeightsSrc(w *writer, c gatConstants) {
	w.begin(w.name("gat", "weightsSrc"), "computes the weights of the gradient by source, see gen/gat.go.",
		"func(seg *int64, count int, idx *int32, s *float32, lds uintptr, d *float32, ldd uintptr, lse *float32, "+
			"ldlse uintptr, grad *float32, ldgrad uintptr, slope float32, heads, stride int, w0, w1, w2, less *float32)")
	s := startHeads(w, c)
	s.slope = w.broadcastArg("slope")
	s.segments(func() {
		s.gather([]string{"d", "lse", "grad"}, []string{"ldd", "ldlse", "ldgrad"}, []string{"w0", "w1", "w2"})
		s.bounds()
		score, sum := s.spread("s", "lds"), w.vec()
		w.zero(sum)
		at := s.field(segAt)
		w1, w2 := w.arg("w1"), w.arg("w2")
		w.ADDQ(at, w1)
		w.ADDQ(at, w2)
		s.each("weight", func(j gp, k mask) {
			in := func(p gp) mem { return mem{Base: p, Index: j, Scale: 1} }
			x, y, g := w.vec(), w.vec(), w.vec()
			w.VADDPS(in(s.w), score, x)
			positive := s.leaky(x)
			w.VSUBPS(in(w1), x, x)
			w.exp(c, x)
			w.VMULPS(s.slope, x, y)
			y = s.choose(positive, x, y)
			w.VMOVUPS(x, in(s.w))
			w.VMOVUPS(y, in(w1))
			w.VMULPS(in(w2), y, g)
			s.clip(k, g)
			w.VADDPS(g, sum, sum)
		})
		s.fold("sumfold", sum, func(t, v vec) { w.VADDPS(t, v, v) })
		s.addLess(sum)
	})
}
