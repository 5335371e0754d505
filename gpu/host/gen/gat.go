package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
		gatSoftmax(w, c)
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

// gatConstants are vectors of equal lanes in memory.
type gatConstants map[string]mem

func newGatConstants(w *writer) gatConstants {
	c := gatConstants{}
	all := func(name string, bits uint32) { c[name] = w.table("gat"+name, func(int) uint32 { return bits }) }
	number := func(name string, x float64) { all(name, math.Float32bits(float32(x))) }
	// Powers: Cephes expf. ln 2 in two parts, of which the first has few bits.
	number("log2e", math.Log2E)
	number("ln2hi", 0.693359375)
	number("ln2lo", -2.12194440e-4)
	for i, x := range []float64{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5} {
		number("exp"+string(rune('0'+i)), x)
	}
	number("one", 1)
	number("least", -87.33654) // -126·ln 2: below it, e^x is subnormal
	number("most", 88.37)      // e^x is finite, and 127 the exponent
	number("lowest", math.Inf(-1))
	// Logarithms: FreeBSD's logf. The mantissa is brought to [√½, √2).
	all("sqrthalf", 0x3f3504f3)
	all("mantissa", 0x007fffff)
	for i, x := range []float64{0xaaaaaa.0p-24, 0xccce13.0p-25, 0x91e9ee.0p-25, 0xf89e26.0p-26} {
		number("log"+string(rune('0'+i)), x)
	}
	number("two", 2)
	number("half", 0.5)
	number("logln2hi", 6.9313812256e-01)
	number("logln2lo", 9.0580006145e-06)
	return c
}

// exp computes x = e^x, with a relative error below 2.5e-7; 0 for e^x below float32's normal numbers; NaN for NaN.
func (w *writer) exp(c gatConstants, x vec) {
	const (
		nearest   = 8
		notLess   = 0x15 // unordered, quiet
		lanesBits = 23
	)
	n, p := w.vec(), w.vec()
	var keep reg.Register
	if w.wide {
		k := w.K()
		w.VCMPPS(operand.Imm(notLess), c["least"], x, k)
		keep = k
		w.VMULPS(c["log2e"], x, n)
		w.VRNDSCALEPS(operand.Imm(nearest), n, n)
	} else {
		v := w.vec()
		w.VCMPPS(operand.Imm(notLess), c["least"], x, v)
		keep = v
		most := w.vec()
		w.VMOVUPS(c["most"], most)
		w.VMINPS(x, most, x) // x where it is not a number
		w.VMULPS(c["log2e"], x, n)
		w.VROUNDPS(operand.Imm(nearest), n, n)
	}
	w.VFNMADD231PS(c["ln2hi"], n, x)
	w.VFNMADD231PS(c["ln2lo"], n, x)
	w.VMOVUPS(c["exp0"], p)
	for _, k := range []string{"exp1", "exp2", "exp3", "exp4", "exp5", "one", "one"} {
		w.VFMADD213PS(c[k], x, p)
	}
	if w.wide {
		w.VSCALEFPS_Z(n, p, keep, x)
		return
	}
	w.VCVTPS2DQ(n, n)
	w.VPSLLD(operand.Imm(lanesBits), n, n)
	w.VPADDD(n, p, p)
	w.VANDPS(keep, p, x)
}

// log returns the logarithms of normal positive x, with an error below one unit in the last place; infinite x gives NaN.
func (w *writer) log(c gatConstants, x vec) vec {
	i, e, f, s, z, r := w.vec(), w.vec(), w.vec(), w.vec(), w.vec(), w.vec()
	w.VMOVUPS(c["sqrthalf"], i)
	w.VPSUBD(i, x, i)
	w.VPSRAD(operand.Imm(23), i, e)
	w.VCVTDQ2PS(e, e)
	if w.wide {
		w.VPANDD(c["mantissa"], i, f)
	} else {
		w.VPAND(c["mantissa"], i, f)
	}
	w.VPADDD(c["sqrthalf"], f, f)
	w.VSUBPS(c["one"], f, f)
	w.VADDPS(c["two"], f, s)
	w.VDIVPS(s, f, s) // s = f / (2 + f)
	w.VMULPS(s, s, z)
	w.VMOVUPS(c["log3"], r)
	for _, k := range []string{"log2", "log1", "log0"} {
		w.VFMADD213PS(c[k], z, r)
	}
	w.VMULPS(z, r, r)
	h := w.vec()
	w.VMULPS(c["half"], f, h)
	w.VMULPS(f, h, h) // f²/2
	w.VADDPS(h, r, r)
	w.VMULPS(s, r, r)
	w.VFMADD231PS(c["logln2lo"], e, r)
	w.VSUBPS(h, r, r)
	w.VADDPS(f, r, r)
	w.VFMADD231PS(c["logln2hi"], e, r)
	w.VSUBPS(x, x, h) // 0, or NaN
	w.VADDPS(h, r, r)
	return r
}

// heads is what the weight kernels share: the segments, and the lanes of a group of heads.
type heads struct {
	*writer
	gatConstants
	seg, count gp
	stride     gp   // lanes of an entry
	lanes      mask // those that are heads
	spreads    vec  // lane mod stride
	slope      vec
	w          gp // weights of the segment, and one behind their last whole vector
	stop       gp
	rest       gp // lanes behind that
}

func startHeads(w *writer, c gatConstants) *heads {
	s := &heads{writer: w, gatConstants: c, stride: w.arg("stride")}
	s.lanes = w.firstLanes(w.arg("heads"))
	bits := w.GP64()
	w.LEAQ(mem{Base: s.stride, Disp: -1}, bits)
	s.spreads = w.vec()
	w.VMOVD(bits.As32(), s.spreads.AsX())
	w.VPBROADCASTD(s.spreads.AsX(), s.spreads)
	if w.wide {
		w.VPANDD(w.iota(), s.spreads, s.spreads)
	} else {
		w.VPAND(w.iota(), s.spreads, s.spreads)
	}
	s.slope = w.broadcastArg("slope")
	s.seg, s.count = w.arg("seg"), w.arg("count")
	return s
}

// field loads a field of the segment.
func (s *heads) field(at int) gp {
	r := s.GP64()
	s.MOVQ(mem{Base: s.seg, Disp: at}, r)
	return r
}

// segments writes the loop over segments; there is at least one.
func (s *heads) segments(body func()) {
	s.Label("segment")
	body()
	s.ADDQ(operand.Imm(segSize), s.seg)
	s.DECQ(s.count)
	s.JNZ(operand.LabelRef("segment"))
	s.end()
}

// perRow returns the address of the row's values in an array of n vectors of gatLanes lanes per row.
func (s *heads) perRow(array string, n int) gp {
	p := s.field(segRow)
	s.IMUL3Q(operand.U32(uint64(4*gatLanes*n)), p, p)
	s.ADDQ(s.arg(array), p)
	return p
}

// spread loads a row's numbers per head into all lanes: lane l gets that of head l mod stride.
func (s *heads) spread(array, ld string) vec {
	p, v := s.field(segRow), s.vec()
	s.IMULQ(s.arg(ld), p)
	s.ADDQ(s.arg(array), p)
	s.load(mem{Base: p}, s.lanes, v)
	s.VPERMPS(v, s.spreads, v)
	return v
}

// gather copies numbers per head of the segment's entries to arrays of weights: from[i] with row stride ld[i] to to[i]. It
// leaves the address of the first one's weights in w.
func (s *heads) gather(from, ld, to []string) {
	idx, left, step := s.field(segFrom), s.field(segN), s.GP64()
	base := s.arg("idx")
	s.LEAQ(mem{Base: base, Index: idx, Scale: 4}, idx)
	at := s.field(segAt)
	s.w = s.arg(to[0])
	s.ADDQ(at, s.w)
	var src, dst []gp
	for i := range from {
		src = append(src, s.arg(from[i]))
		q := s.arg(to[i])
		s.ADDQ(at, q)
		dst = append(dst, q)
	}
	s.MOVQ(s.stride, step)
	s.SHLQ(operand.Imm(2), step)
	s.TESTQ(left, left)
	s.JZ(operand.LabelRef("gathered"))
	s.CMPQ(s.stride, operand.Imm(4))
	s.JG(operand.LabelRef("gatherwide"))
	for _, wide := range []bool{false, true} {
		label := map[bool]string{false: "gathernarrow", true: "gatherwide"}[wide]
		s.Label(label)
		col := s.GP64()
		s.MOVLQSX(mem{Base: idx}, col)
		for i := range src {
			p := s.GP64()
			s.MOVQ(s.arg(ld[i]), p)
			s.IMULQ(col, p)
			m := mem{Base: src[i], Index: p, Scale: 1}
			if wide {
				v := s.vec()
				s.load(m, s.lanes, v)
				s.VMOVUPS(v, mem{Base: dst[i]})
			} else {
				s.copy4(m, dst[i])
			}
			s.ADDQ(step, dst[i])
		}
		s.ADDQ(operand.Imm(4), idx)
		s.DECQ(left)
		s.JNZ(operand.LabelRef(label))
		if !wide {
			s.JMP(operand.LabelRef("gathered"))
		}
	}
	s.Label("gathered")
}

// copy4 copies at most four heads.
func (s *heads) copy4(from mem, to gp) {
	v := s.XMM()
	if s.writer.wide {
		s.VMOVUPS_Z(from, s.lanes, v)
	} else {
		s.VMASKMOVPS(from, s.lanes.(vec).AsX(), v)
	}
	s.VMOVUPS(v, mem{Base: to})
}

// bounds prepares each.
func (s *heads) bounds() {
	s.stop, s.rest = s.field(segN), s.GP64()
	s.IMULQ(s.stride, s.stop)
	s.MOVQ(s.stop, s.rest)
	s.ANDQ(operand.Imm(uint64(s.writer.lanes()-1)), s.rest)
	s.SUBQ(s.rest, s.stop)
	s.SHLQ(operand.Imm(2), s.stop)
}

// each writes a loop over the vectors of the segment's weights: body gets the byte offset of one, and the lanes of it that
// are entries, nil for all.
func (s *heads) each(label string, body func(j gp, k mask)) {
	j := s.GP64()
	s.XORQ(j, j)
	s.TESTQ(s.stop, s.stop)
	s.JZ(operand.LabelRef(label + "rest"))
	s.Label(label)
	body(j, nil)
	s.ADDQ(operand.Imm(uint64(s.size())), j)
	s.CMPQ(j, s.stop)
	s.JLT(operand.LabelRef(label))
	s.Label(label + "rest")
	s.TESTQ(s.rest, s.rest)
	s.JZ(operand.LabelRef(label + "done"))
	body(j, s.firstLanes(s.rest))
	s.Label(label + "done")
}

// leaky computes x = leaky(x) and returns where x was positive.
func (s *heads) leaky(x vec) mask {
	const greater = 0x1e // ordered, quiet
	zero, y := s.vec(), s.vec()
	s.zero(zero)
	s.VMULPS(s.slope, x, y)
	if s.writer.wide {
		k := s.K()
		s.VCMPPS(operand.Imm(greater), zero, x, k)
		s.VMOVAPS(x, k, y)
		s.VMOVAPS(y, x)
		return k
	}
	s.VCMPPS(operand.Imm(greater), zero, x, zero)
	s.VBLENDVPS(zero, x, y, x)
	return zero
}

// choose returns yes in the lanes of k, else no, which is clobbered.
func (s *heads) choose(k mask, yes, no vec) vec {
	if s.writer.wide {
		s.VMOVAPS(yes, k, no)
	} else {
		s.VBLENDVPS(k.(vec), yes, no, no)
	}
	return no
}

// clip clears the lanes outside of k, nil meaning all.
func (s *heads) clip(k mask, v vec) {
	switch {
	case k == nil:
	case s.writer.wide:
		s.VMOVAPS_Z(v, k, v)
	default:
		s.VANDPS(k.(vec), v, v)
	}
}

// fold combines the lanes of each head of v; every lane of a head gets the result. The order depends on the vector's size
// and the stride only.
func (s *heads) fold(label string, v vec, op func(t, v vec)) {
	t := s.vec()
	for d := s.writer.lanes() / 2; d > 0; d /= 2 {
		s.CMPQ(s.stride, operand.Imm(uint64(d)))
		s.JG(operand.LabelRef(label))
		switch {
		case d == 8:
			s.VSHUFF32X4(operand.Imm(0x4e), v, v, t)
		case d == 4 && s.writer.wide:
			s.VSHUFF32X4(operand.Imm(0xb1), v, v, t)
		case d == 4:
			s.VPERM2F128(operand.Imm(1), v, v, t)
		case d == 2:
			s.VPERMILPS(operand.Imm(0x4e), v, t)
		case d == 1:
			s.VPERMILPS(operand.Imm(0xb1), v, t)
		}
		op(t, v)
	}
	s.Label(label)
}

// ifFlag writes code for segments with a flag.
func (s *heads) ifFlag(flag int, label string, f func()) {
	s.unless(flag, label)
	f()
	s.Label(label)
}

// unless jumps to label unless the segment has a flag.
func (s *heads) unless(flag int, label string) {
	r := s.field(segFlags)
	s.TESTQ(operand.U32(uint64(flag)), r)
	s.JZ(operand.LabelRef(label))
}

// gatSoftmax computes, for each segment and head, with y = leaky(s[idx[e]] + d[row]) and top and sum those of the row's
// segments so far:
//
//	top' = max(top, y);  w[e] = exp(y - top');  sum' = sum·exp(top - top') + Σ w
//	factors[row] = exp(top - top'), 1;  with the row's last segment divided by sum', and lse[row] = top' + log(sum')
//
// state[row] holds top and sum between a row's segments. So with each segment o = o·factors[0] + (Σ w·t)·factors[1].
func gatSoftmax(w *writer, c gatConstants) {
	w.begin(w.name("gat", "softmax"), "computes the weights of the forward pass, see gen/gat.go.",
		"func(seg *int64, count int, idx *int32, s *float32, lds uintptr, d *float32, ldd uintptr, slope float32, "+
			"heads, stride int, w, state, factors, lse *float32, ldlse uintptr)")
	s := startHeads(w, c)
	s.segments(func() {
		s.gather([]string{"s"}, []string{"lds"}, []string{"w"})
		s.bounds()
		top, old := w.vec(), w.vec()
		w.VMOVUPS(c["lowest"], top)
		d := s.spread("d", "ldd")
		s.each("score", func(j gp, k mask) {
			x, m := w.vec(), mem{Base: s.w, Index: j, Scale: 1}
			w.VADDPS(m, d, x)
			s.leaky(x)
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
