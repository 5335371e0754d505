package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// lossKernels writes the rows of the losses.
func lossKernels(w *writer) {
	e := newExponential(w)
	sign := w.table("sign", func(int) uint32 { return 1 << 31 })
	wideOne := w.table("wideone", func(i int) uint32 { return uint32(math.Float64bits(1) >> (32 * (i % 2))) })
	w.both(func() {
		softmaxKernel(w, e)
		bceKernel(w, e, sign, wideOne)
	})
}

// exponential is e^x of a vector, for x ≤ 0: 0 below least, otherwise with a relative error of at most 2⁻²².
//
// Method: x = k·ln 2 + r with |r| ≤ ln(2)/2, ln 2 in two parts so that r is right to 2⁻²⁴; e^r is its Taylor polynomial of
// degree 7, whose remainder is below r⁸/8! = 5.2e-9; 2^k is made from its exponent bits. The constant that rounds to an
// integer puts k into the low bits.
type exponential struct {
	log2e, round, ln2High, ln2Low, least, one mem
	taylor                                    []mem // of r^7 to r^1
}

func newExponential(w *writer) exponential {
	constant := func(name string, v float64) mem {
		return w.table("exp"+name, func(int) uint32 { return math.Float32bits(float32(v)) })
	}
	// The first part has 12 bits, so that its product with k is exact.
	high := float64(math.Float32frombits(math.Float32bits(math.Ln2) &^ 0xfff))
	e := exponential{
		log2e: constant("log2e", 1/math.Ln2), round: constant("round", 3<<22), ln2High: constant("ln2high", high),
		ln2Low: constant("ln2low", math.Ln2-high), least: constant("least", -87.3), one: constant("one", 1),
	}
	factorial := 5040.0
	for i := 7; i > 1; i-- {
		e.taylor = append(e.taylor, constant(string(rune('0'+i)), 1/factorial))
		factorial /= float64(i)
	}
	e.taylor = append(e.taylor, e.one)
	return e
}

// of returns e^x in the lanes of k (all if it is nil) and 0 in the others. A number that is none stays one. x is clobbered.
func (e exponential) of(w *writer, x vec, k mask) vec {
	const notLess = 0x15 // quiet: also where there is no order
	t, p, scale := w.vec(), w.vec(), w.vec()
	w.VMOVUPS(e.round, t)
	w.VFMADD231PS(e.log2e, x, t)
	w.VPSLLD(operand.Imm(23), t, scale)
	w.VPADDD(e.one, scale, scale)
	w.VSUBPS(e.round, t, t)
	var kept mask
	if w.wide {
		kept = w.K()
		if k == nil {
			w.VCMPPS(operand.Imm(notLess), e.least, x, kept)
		} else {
			w.VCMPPS(operand.Imm(notLess), e.least, x, k, kept)
		}
	} else {
		v := w.vec()
		w.VCMPPS(operand.Imm(notLess), e.least, x, v)
		if k != nil {
			w.VANDPS(k.(vec), v, v)
		}
		kept = v
	}
	w.VFNMADD231PS(e.ln2High, t, x)
	w.VFNMADD231PS(e.ln2Low, t, x)
	w.VMOVUPS(e.taylor[0], p)
	for _, c := range e.taylor[1:] {
		w.VFMADD213PS(c, x, p)
	}
	w.VFMADD213PS(e.one, x, p)
	if w.wide {
		w.VMULPS_Z(scale, p, kept, p)
		return p
	}
	w.VMULPS(scale, p, p)
	w.VANDPS(kept.(vec), p, p)
	return p
}

func softmaxKernel(w *writer, e exponential) {
	w.begin(w.name("softmax", "row"), "is softmaxRow; n ≥ 1.", "func(n int, e, x *float32) (top float32, sum float64)")
	r := startRowPass(w, mem{})
	to, x := w.arg("e"), w.arg("x")
	top := w.broadcastConst(math.Float32bits(float32(math.Inf(-1))))
	r.columns("top", func(k mask) {
		switch {
		case k == nil:
			w.VMAXPS(r.at(x), top, top)
		case w.wide:
			w.VMAXPS(r.get(x, k), top, k, top)
		default:
			v := r.get(x, k)
			w.VBLENDVPS(k.(vec), v, top, v)
			w.VMAXPS(v, top, top)
		}
	})
	w.largest(top)
	w.VMOVSS(top.AsX(), w.result(0))
	sums := w.vecs(2)
	w.zero(sums...)
	r.columns("exp", func(k mask) {
		v := r.get(x, k)
		w.VSUBPS(top, v, v)
		v = e.of(w, v, k)
		w.store(v, k, r.at(to))
		for i, f := range w.widen(v) {
			w.VADDPD(f, sums[i], sums[i])
		}
	})
	w.VADDPD(sums[1], sums[0], sums[0])
	w.fold(sums[0], w.VADDPD)
	w.VMOVSD(sums[0].AsX(), w.result(1))
	w.end()
}

// largest leaves the largest of v's lanes in every lane of v.
func (w *writer) largest(v vec) {
	t := w.vec()
	if w.wide {
		w.VEXTRACTF64X4(operand.Imm(1), v, t.AsY())
		w.VMAXPS(t.AsY(), v.AsY(), v.AsY())
	}
	w.VEXTRACTF128(operand.Imm(1), v.AsY(), t.AsX())
	w.VMAXPS(t.AsX(), v.AsX(), v.AsX())
	w.VPERMILPS(operand.Imm(0x4e), v.AsX(), t.AsX())
	w.VMAXPS(t.AsX(), v.AsX(), v.AsX())
	w.VPERMILPS(operand.Imm(0xb1), v.AsX(), t.AsX())
	w.VMAXPS(t.AsX(), v.AsX(), v.AsX())
	w.VBROADCASTSS(v.AsX(), v)
}

// bceKernel adds and multiplies in float64. AVX2 reads a whole vector of targets for the last columns too.
func bceKernel(w *writer, e exponential, sign, wideOne mem) {
	w.begin(w.name("bce", "row"), "is bceRow.",
		"func(n int, grad, x *float32, targets *uint8, scale float32) (sum, product float64)")
	r := startRowPass(w, mem{})
	grad, x, targets := w.arg("grad"), w.arg("x"), w.arg("targets")
	scale := w.broadcastArg("scale")
	sums, products := w.vecs(2), w.vecs(2)
	w.zero(sums...)
	for _, p := range products {
		w.VMOVUPD(wideOne, p)
	}
	r.columns("column", func(k mask) {
		flip := r.targetSigns(targets, k)
		v := r.get(x, k)
		w.VXORPS(flip, v, v)

		minus := w.vec()
		w.VORPS(sign, v, minus)
		ev := e.of(w, minus, k)
		for i, f := range w.widen(ev) {
			w.VADDPD(wideOne, f, f)
			w.VMULPD(f, products[i], products[i])
		}
		up := w.vec()
		w.zero(up)
		w.VMAXPS(up, v, up)
		for i, f := range w.widen(up) {
			w.VADDPD(f, sums[i], sums[i])
		}
		n := e.sigmoid(w, v, ev)
		w.VMULPS(scale, n, n)
		w.VXORPS(flip, n, n)
		w.store(n, k, r.at(grad))
	})
	w.VADDPD(sums[1], sums[0], sums[0])
	w.fold(sums[0], w.VADDPD)
	w.VMOVSD(sums[0].AsX(), w.result(0))
	w.VMULPD(products[1], products[0], products[0])
	w.fold(products[0], w.VMULPD)
	w.VMOVSD(products[0].AsX(), w.result(1))
	w.end()
}

// targetSigns returns the sign bit in the lanes whose target is 1.
func (r *rowPass) targetSigns(targets gp, k mask) vec {
	at, flip := r.GP64(), r.vec()
	r.MOVQ(r.j, at)
	r.SHRQ(operand.Imm(2), at)
	m := mem{Base: targets, Index: at, Scale: 1}
	if k != nil && r.wide {
		r.VPMOVZXBD_Z(m, k, flip)
	} else {
		r.VPMOVZXBD(m, flip)
	}
	r.VPSLLD(operand.Imm(31), flip, flip)
	return flip
}

// sigmoid returns σ(v) for ev = e^-|v|: n / (1 + ev) with n = ev where v is negative, else 1.
func (e exponential) sigmoid(w *writer, v, ev vec) vec {
	n, whole := w.vec(), w.vec()
	w.VMOVUPS(e.one, n)
	w.VADDPS(n, ev, whole)
	if w.wide {
		negative := w.K()
		w.VPMOVD2M(v, negative)
		w.VMOVAPS(ev, negative, n)
	} else {
		w.VBLENDVPS(v, ev, n, n)
	}
	w.VDIVPS(whole, n, n)
	return n
}
