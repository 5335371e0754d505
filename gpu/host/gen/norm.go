package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// normKernels writes LayerNorm·ReLU·dropout, one row forward, one row backward, and its output once more.
func normKernels(w *writer) {
	bits := w.table("bitsel", func(i int) uint32 { return 1 << (i % 8) })
	w.both(func() {
		normForward(w, bits)
		normBackward(w, bits)
		normOutput(w, bits)
	})
}

// rowPass holds what the column loops of a row kernel share.
type rowPass struct {
	*writer
	n     gp   // columns
	whole gp   // bytes of the row's whole vectors
	rest  gp   // columns behind them
	last  mask // their lanes
	j     gp   // byte offset of the current vector
	bits  mem  // 1, 2, 4, …, 128 in each lane, for AVX2
	keep  gp   // address of the keep mask, or 0
	scale vec  // of kept elements
}

func startRowPass(w *writer, bits mem) *rowPass {
	r := &rowPass{writer: w, n: w.arg("n"), whole: w.GP64(), rest: w.GP64(), j: w.GP64(), bits: bits}
	w.MOVQ(r.n, r.rest)
	w.ANDQ(operand.Imm(uint64(w.lanes()-1)), r.rest)
	w.MOVQ(r.n, r.whole)
	w.SUBQ(r.rest, r.whole)
	w.SHLQ(operand.Imm(2), r.whole)
	r.last = w.firstLanes(r.rest)
	return r
}

// columns writes a loop over the row's vectors: body computes the vector at byte offset j, with k the columns of its last
// part and nil for whole vectors.
func (r *rowPass) columns(label string, body func(k mask)) {
	r.XORQ(r.j, r.j)
	r.TESTQ(r.whole, r.whole)
	r.JZ(operand.LabelRef(label + "rest"))
	r.Label(label)
	body(nil)
	r.ADDQ(operand.Imm(uint64(r.size())), r.j)
	r.CMPQ(r.j, r.whole)
	r.JLT(operand.LabelRef(label))
	r.Label(label + "rest")
	r.TESTQ(r.rest, r.rest)
	r.JZ(operand.LabelRef(label + "done"))
	body(r.last)
	r.Label(label + "done")
}

// at returns the current vector of the array at p.
func (r *rowPass) at(p gp) mem { return mem{Base: p, Index: r.j, Scale: 1} }

// get loads the current vector of the array at p.
func (r *rowPass) get(p gp, k mask) vec {
	v := r.vec()
	r.load(r.at(p), k, v)
	return v
}

// divide divides the scalar in v by n and broadcasts it.
func (r *rowPass) divide(v vec) {
	n := r.XMM()
	r.VXORPS(n, n, n)
	r.VCVTSI2SSQ(r.n, n, n)
	r.VDIVSS(n, v.AsX(), v.AsX())
	r.VBROADCASTSS(v.AsX(), v)
}

// keepLanes returns the current vector's lanes of the keep mask at offset j.
func (r *rowPass) keepLanes() mask {
	at := r.GP64()
	r.MOVQ(r.j, at)
	r.SHRQ(operand.Imm(5), at)
	m := mem{Base: r.keep, Index: at, Scale: 1}
	if r.wide {
		k := r.K()
		r.KMOVW(m, k)
		return k
	}
	sel, v := r.vec(), r.vec()
	r.VMOVUPS(r.bits, sel)
	r.VPBROADCASTB(m, v)
	r.VPAND(sel, v, v)
	r.VPCMPEQD(sel, v, v)
	return v
}

// ifKept applies f with the keep mask's lanes unless there is no dropout.
func (r *rowPass) ifKept(label string, f func(k mask)) {
	r.TESTQ(r.keep, r.keep)
	r.JZ(operand.LabelRef(label))
	f(r.keepLanes())
	r.Label(label)
}

// scaleKept multiplies v by the dropout scale and clears the lanes outside of k.
func (r *rowPass) scaleKept(k mask, v vec) {
	if r.wide {
		r.VMULPS_Z(r.scale, v, k, v)
		return
	}
	r.VMULPS(r.scale, v, v)
	r.VANDPS(k.(vec), v, v)
}

func normForward(w *writer, bits mem) {
	w.begin(w.name("norm", "forward"), "is normForward.",
		"func(n int, z, h, gamma, beta *float32, eps float32, relu bool, keep *uint32, keepScale float32) (rstd float32)")
	r := startRowPass(w, bits)
	z := w.arg("z")

	mu := w.vec()
	w.zero(mu)
	r.columns("sum", func(k mask) { w.VADDPS(r.get(z, k), mu, mu) })
	w.sum(mu)
	r.divide(mu)

	rstd := w.vec()
	w.zero(rstd)
	r.columns("square", func(k mask) {
		v := r.get(z, k)
		r.subtract(mu, k, v)
		w.VFMADD231PS(v, v, rstd)
	})
	w.sum(rstd)
	r.divide(rstd)
	w.VADDSS(w.address("eps"), rstd.AsX(), rstd.AsX())
	w.VSQRTSS(rstd.AsX(), rstd.AsX(), rstd.AsX())
	one := w.broadcastConst(math.Float32bits(1))
	w.VDIVSS(rstd.AsX(), one.AsX(), rstd.AsX())
	out, err := w.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	w.VMOVSS(rstd.AsX(), out.Addr)
	w.VBROADCASTSS(rstd.AsX(), rstd)
	r.normalise(z, mu, rstd)
	w.end()
}

// subtract computes v -= s in the lanes of k; the others, which were 0, stay 0.
func (r *rowPass) subtract(s vec, k mask, v vec) {
	switch {
	case k == nil:
		r.VSUBPS(s, v, v)
	case r.wide:
		r.VSUBPS(s, v, k, v)
	default:
		r.VSUBPS(s, v, v)
		r.VANDPS(k.(vec), v, v)
	}
}

// normalise writes the last pass of normForward: z and h.
func (r *rowPass) normalise(z gp, mu, rstd vec) {
	r.output(func(k mask) vec {
		v := r.get(z, k)
		r.VSUBPS(mu, v, v)
		r.VMULPS(rstd, v, v)
		r.store(v, k, r.at(z))
		return v
	})
}

func normOutput(w *writer, bits mem) {
	w.begin(w.name("norm", "output"), "is normOutput.",
		"func(n int, x, h, gamma, beta *float32, relu bool, keep *uint32, keepScale float32)")
	r := startRowPass(w, bits)
	x := w.arg("x")
	r.output(func(k mask) vec { return r.get(x, k) })
	w.end()
}

// output writes h from the normalised rows, of which next makes the current vector.
func (r *rowPass) output(next func(k mask) vec) {
	w := r.writer
	h, gamma, beta := w.arg("h"), w.arg("gamma"), w.arg("beta")
	r.keep = w.arg("keep")
	r.scale = w.broadcastArg("keepScale")
	floor := r.reluFloor()
	r.columns("out", func(k mask) {
		label := "outall"
		if k != nil {
			label = "outrestall"
		}
		y := r.activation(next(k), gamma, beta, k)
		w.VMAXPS(y, floor, y) // y where it is not a number
		r.ifKept(label, func(keep mask) { r.scaleKept(keep, y) })
		w.store(y, k, r.at(h))
	})
}

// reluFloor returns 0 with ReLU, else -Inf: the least value that passes.
func (r *rowPass) reluFloor() vec {
	v := r.vec()
	relu := r.Load(r.Param("relu"), r.GP8())
	r.zero(v)
	r.TESTB(relu, relu)
	r.JNZ(operand.LabelRef("floored"))
	minusInf := r.broadcastConst(math.Float32bits(float32(math.Inf(-1))))
	r.VMOVUPS(minusInf, v)
	r.Label("floored")
	return v
}

// activation returns gamma·x + beta. Forward and backward use it alike, so they agree on its sign.
func (r *rowPass) activation(x vec, gamma, beta gp, k mask) vec {
	y := r.get(beta, k)
	if k == nil {
		r.VFMADD231PS(r.at(gamma), x, y)
	} else {
		r.VFMADD231PS(r.get(gamma, k), x, y)
	}
	return y
}

func normBackward(w *writer, bits mem) {
	w.begin(w.name("norm", "backward"), "is normBackward.",
		"func(n int, dz, dh, x, gamma, beta *float32, rstd float32, relu bool, keep *uint32, keepScale float32, "+
			"dgamma, dbeta, dbias *float32)")
	r := startRowPass(w, bits)
	dh, x, gamma, beta := w.arg("dh"), w.arg("x"), w.arg("gamma"), w.arg("beta")
	r.keep = w.arg("keep")
	r.scale = w.broadcastArg("keepScale")
	floor := r.reluFloor()

	dgamma, dbeta := w.arg("dgamma"), w.arg("dbeta")
	mean, meanX := w.vec(), w.vec()
	w.zero(mean, meanX)
	r.columns("sum", func(k mask) {
		g, xv := r.gradient("sum", dh, x, gamma, beta, floor, k)
		r.addTo(dbeta, g, k)
		t := w.vec()
		w.VMULPS(g, xv, t)
		r.addTo(dgamma, t, k)
		w.VMULPS(r.get(gamma, k), g, g)
		w.VADDPS(g, mean, mean)
		w.VFMADD231PS(g, xv, meanX)
	})
	w.sum(mean)
	r.divide(mean)
	w.sum(meanX)
	r.divide(meanX)

	rstd := w.broadcastArg("rstd")
	dz, dbias := w.arg("dz"), w.arg("dbias")
	r.columns("out", func(k mask) {
		label := "outbias"
		if k != nil {
			label = "outrestbias"
		}
		g, xv := r.gradient("out", dh, x, gamma, beta, floor, k)
		w.VMULPS(r.get(gamma, k), g, g)
		w.VSUBPS(mean, g, g)
		w.VFNMADD231PS(meanX, xv, g)
		w.VMULPS(rstd, g, g)
		w.store(g, k, r.at(dz))
		w.TESTQ(dbias, dbias)
		w.JZ(operand.LabelRef(label))
		r.addTo(dbias, g, k)
		w.Label(label)
	})
	w.end()
}

// gradient returns dh after dropout and ReLU, and x, of the current vector.
func (r *rowPass) gradient(label string, dh, x, gamma, beta gp, floor vec, k mask) (g, xv vec) {
	if k != nil {
		label += "rest"
	}
	const greater = 0x1e // ordered, quiet
	g, xv = r.get(dh, k), r.get(x, k)
	r.ifKept(label+"all", func(keep mask) { r.scaleKept(keep, g) })
	y := r.activation(xv, gamma, beta, k)
	if r.wide {
		pass := r.K()
		r.VCMPPS(operand.Imm(greater), floor, y, pass)
		r.VMOVAPS_Z(g, pass, g)
	} else {
		r.VCMPPS(operand.Imm(greater), floor, y, y)
		r.VANDPS(y, g, g)
	}
	return g, xv
}

// addTo adds v to the current vector of the array at p. v keeps its value.
func (r *rowPass) addTo(p gp, v vec, k mask) {
	t := r.vec()
	if k == nil {
		r.VADDPS(r.at(p), v, t)
	} else {
		r.load(r.at(p), k, t)
		r.VADDPS(v, t, t)
	}
	r.store(t, k, r.at(p))
}
