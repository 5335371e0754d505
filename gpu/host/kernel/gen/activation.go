package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// activations are the constants of the kernels of curved activations, vectors of equal lanes in memory.
type activations map[string]mem

func newActivations(w *writer) activations {
	c := activations{}
	all := func(name string, bits uint32) { c[name] = w.table("act"+name, func(int) uint32 { return bits }) }
	number := func(name string, x float64) { all(name, math.Float32bits(float32(x))) }
	number("slope", 0.01)
	number("one", 1)
	number("two", 2)
	number("minustwo", -2)
	number("least", -30)
	number("round", 3<<22)
	number("log2e", math.Log2E)
	number("ln2hi", 0.693359375)
	number("ln2lo", -2.12194440e-4)
	for i, x := range []float64{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5} {
		number("exp"+string(rune('0'+i)), x)
	}
	all("sign", 1<<31)
	all("magnitude", 1<<31-1)
	all("bias", 127)
	return c
}

// activationKernels writes curved activations with dropout, one row forward and one row backward, and y of LayerNorm on its own. The operations are those of the Go
// twins, one by one: products and sums stay apart, so that bits are the same.
func activationKernels(w *writer) {
	bits, c := w.table("actbitsel", func(i int) uint32 { return 1 << (i % 8) }), newActivations(w)
	w.both(func() {
		for _, f := range []struct {
			name            string
			forward, factor func(w *writer, c activations, y, zero vec) vec
		}{{"leaky", leakyOf, nil}, {"elu", eluOf, eluFactor}, {"tanh", tanhOf, tanhFactor}} {
			activationForward(w, c, bits, f.name, f.forward)
			activationBackward(w, c, bits, f.name, f.factor)
		}
		affineRow(w)
	})
}

func activationForward(w *writer, c activations, bits mem, name string, value func(w *writer, c activations, y, zero vec) vec) {
	w.begin(w.name(name, "forward"), "is activate.", "func(n int, h, z *float32, keep *uint32, keepScale float32)")
	r := startRowPass(w, bits)
	h, z := w.arg("h"), w.arg("z")
	r.keep = w.arg("keep")
	r.scale = w.broadcastArg("keepScale")
	zero := w.vec()
	w.zero(zero)
	r.columns("column", func(k mask) {
		v := value(w, c, r.get(z, k), zero)
		r.ifKept(label("all", k), func(keep mask) { r.scaleKept(keep, v) })
		w.store(v, k, r.at(h))
	})
	w.end()
}

// activationBackward has no factor for LeakyReLU, which chooses.
func activationBackward(w *writer, c activations, bits mem, name string, factor func(w *writer, c activations, h, zero vec) vec) {
	w.begin(w.name(name, "backward"), "is activateBackward.", "func(n int, dz, dh, h *float32, keep *uint32, keepScale float32)")
	r := startRowPass(w, bits)
	dz, dh, h := w.arg("dz"), w.arg("dh"), w.arg("h")
	r.keep = w.arg("keep")
	r.scale = w.broadcastArg("keepScale")
	zero := w.vec()
	w.zero(zero)
	r.columns("column", func(k mask) {
		g, f := r.get(dh, k), r.get(h, k)
		r.ifKept(label("all", k), func(keep mask) {
			r.scaleKept(keep, g)
			if factor != nil { // LeakyReLU's sign is that of the output
				w.VDIVPS(r.scale, f, f)
			}
		})
		if factor == nil {
			t := w.vec()
			w.VMULPS(c["slope"], g, t)
			w.wherePositive(f, zero, g, t)
			w.store(t, k, r.at(dz))
			return
		}
		w.VMULPS(factor(w, c, f, zero), g, g)
		w.store(g, k, r.at(dz))
	})
	w.end()
}

// wherePositive sets the lanes of to in which v > 0 to those of from.
func (w *writer) wherePositive(v, zero, from, to vec) {
	const greater = 0x1e // ordered, quiet
	if w.wide {
		k := w.K()
		w.VCMPPS(operand.Imm(greater), zero, v, k)
		w.VMOVAPS(from, k, to)
		return
	}
	m := w.vec()
	w.VCMPPS(operand.Imm(greater), zero, v, m)
	w.VBLENDVPS(m, from, to, to)
}

// leakyOf returns the larger of y and a share of it: y where it is not a number.
func leakyOf(w *writer, c activations, y, _ vec) vec {
	t := w.vec()
	w.VMULPS(c["slope"], y, t)
	w.VMAXPS(y, t, y)
	return y
}

// eluOf returns max(y, 0) + (e^min(y, 0) - 1), of which one is 0.
func eluOf(w *writer, c activations, y, zero vec) vec {
	x := w.vec()
	w.VMINPS(y, zero, x) // y where it is not a number
	w.VMAXPS(y, zero, y)
	w.VADDPS(w.expm1(c, x), y, y)
	return y
}

func tanhOf(w *writer, c activations, y, zero vec) vec {
	sign, x, v := w.vec(), w.vec(), w.vec()
	w.and(c["sign"], y, sign)
	w.and(c["magnitude"], y, x)
	w.VMULPS(c["minustwo"], x, x)
	u := w.expm1(c, x)
	w.VSUBPS(u, zero, v)
	w.VADDPS(c["two"], u, u)
	w.VDIVPS(u, v, v)
	w.or(sign, v)
	return v
}

func eluFactor(w *writer, c activations, h, zero vec) vec {
	w.VMINPS(h, zero, h)
	w.VADDPS(c["one"], h, h)
	return h
}

func tanhFactor(w *writer, c activations, h, _ vec) vec {
	one := w.vec()
	w.VMOVUPS(c["one"], one)
	w.VMULPS(h, h, h)
	w.VSUBPS(h, one, one)
	return one
}

// expm1 returns e^x - 1 for x ≤ 0; x is clobbered. It is the Go function of this name, operation by operation.
func (w *writer) expm1(c activations, x vec) vec {
	least, t, n, m, q := w.vec(), w.vec(), w.vec(), w.vec(), w.vec()
	w.VMOVUPS(c["least"], least)
	w.VMAXPS(x, least, x) // x where it is not a number
	w.VMULPS(c["log2e"], x, t)
	w.VADDPS(c["round"], t, t)
	w.VSUBPS(c["round"], t, n)
	w.VMULPS(c["ln2hi"], n, m)
	w.VSUBPS(m, x, x)
	w.VMULPS(c["ln2lo"], n, m)
	w.VSUBPS(m, x, x)
	w.VMOVUPS(c["exp0"], q)
	for _, k := range []string{"exp1", "exp2", "exp3", "exp4", "exp5"} {
		w.VMULPS(x, q, q)
		w.VADDPS(c[k], q, q)
	}
	w.VMULPS(x, x, m)
	w.VMULPS(m, q, q)
	w.VADDPS(x, q, q)
	w.VPADDD(c["bias"], t, t)
	w.VPSLLD(operand.Imm(23), t, t)
	w.VMULPS(t, q, q)
	w.VSUBPS(c["one"], t, t)
	w.VADDPS(t, q, q)
	return q
}

// affineRow has the operation of NormForward's y.
func affineRow(w *writer) {
	w.begin(w.name("affine", "row"), "is affine.", "func(n int, y, x, gamma, beta *float32)")
	r := startRowPass(w, mem{})
	y, x, gamma, beta := w.arg("y"), w.arg("x"), w.arg("gamma"), w.arg("beta")
	r.columns("column", func(k mask) { w.store(r.activation(r.get(x, k), gamma, beta, k), k, r.at(y)) })
	w.end()
}
