package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// normKernels writes LayerNorm·ReLU·dropout, one row forward and one row backward.
func normKernels(w *writer) {
	bits := w.table("bitsel", func(i int) uint32 { return 1 << (i % 8) })
	w.both(func() {
		normForward(w, bits)
		normBackward(w, bits)
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
	disp  int  // the same, of a vector in an unrolled loop
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

// unrolled is columns with n whole vectors per turn, so that sums need not wait for each other: i is a vector's place in its
// turn, 0 for those that are left over, which have the label "one".
func (r *rowPass) unrolled(label string, n int, body func(label string, k mask, i int)) {
	limit := r.GP64()
	r.LEAQ(mem{Base: r.whole, Disp: (1 - n) * r.size()}, limit)
	r.XORQ(r.j, r.j)
	r.CMPQ(r.j, limit)
	r.JGE(operand.LabelRef(label + "few"))
	r.Label(label)
	for i := range n {
		r.disp = i * r.size()
		body(fmt.Sprint(label, i), nil, i)
	}
	r.disp = 0
	r.ADDQ(operand.U32(n*r.size()), r.j)
	r.CMPQ(r.j, limit)
	r.JLT(operand.LabelRef(label))
	r.Label(label + "few")
	r.CMPQ(r.j, r.whole)
	r.JGE(operand.LabelRef(label + "rest"))
	body(label+"one", nil, 0)
	r.ADDQ(operand.Imm(uint64(r.size())), r.j)
	r.JMP(operand.LabelRef(label + "few"))
	r.Label(label + "rest")
	r.TESTQ(r.rest, r.rest)
	r.JZ(operand.LabelRef(label + "done"))
	body(label+"last", r.last, 0)
	r.Label(label + "done")
}

// at returns the current vector of the array at p.
func (r *rowPass) at(p gp) mem { return mem{Base: p, Index: r.j, Scale: 1, Disp: r.disp} }

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
	m := mem{Base: r.keep, Index: at, Scale: 1, Disp: r.disp / 32}
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

	sums := w.vecs(4)
	w.zero(sums...)
	r.unrolled("sum", len(sums), func(_ string, k mask, i int) { w.addFrom(r.at(z), k, sums[i], w.vec()) })
	mu := w.total(sums)
	r.divide(mu)

	squares := w.vecs(4)
	w.zero(squares...)
	r.unrolled("square", len(squares), func(_ string, k mask, i int) {
		v := r.get(z, k)
		r.subtract(mu, k, v)
		w.VFMADD231PS(v, v, squares[i])
	})
	rstd := w.total(squares)
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

// total returns the sum of all lanes of v in every lane.
func (w *writer) total(v []vec) vec {
	for n := len(v) / 2; n > 0; n /= 2 {
		for i := range n {
			w.VADDPS(v[i+n], v[i], v[i])
		}
	}
	w.sum(v[0])
	return v[0]
}

// normalise writes the last pass of NormForward: z and h.
func (r *rowPass) normalise(z gp, mu, rstd vec) {
	w := r.writer
	h, gamma, beta := w.arg("h"), w.arg("gamma"), w.arg("beta")
	r.keep = w.arg("keep")
	r.scale = w.broadcastArg("keepScale")
	floor := r.reluFloor()
	r.unrolled("out", 2, func(label string, k mask, _ int) {
		v := r.get(z, k)
		w.VSUBPS(mu, v, v)
		w.VMULPS(rstd, v, v)
		w.store(v, k, r.at(z))
		r.output(label, r.activation(v, gamma, beta, k), floor, h, k)
	})
}

// output writes the current vector of h from y, which is clobbered.
func (r *rowPass) output(label string, y, floor vec, h gp, k mask) {
	r.VMAXPS(y, floor, y) // y where it is not a number
	r.ifKept(label+"all", func(keep mask) { r.scaleKept(keep, y) })
	r.store(y, k, r.at(h))
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
			"dgamma, dbeta, dbias, h *float32)")
	r := startRowPass(w, bits)
	dh, x, gamma, beta := w.arg("dh"), w.arg("x"), w.arg("gamma"), w.arg("beta")
	r.keep = w.arg("keep")
	r.scale = w.broadcastArg("keepScale")
	floor := r.reluFloor()

	dgamma, dbeta := w.arg("dgamma"), w.arg("dbeta")
	means, meansX := w.vecs(2), w.vecs(2)
	w.zero(append(means, meansX...)...)
	r.unrolled("sum", len(means), func(label string, k mask, i int) {
		g, xv, _ := r.gradient(label, dh, x, gamma, beta, floor, k)
		r.addTo(dbeta, g, k)
		t := w.vec()
		w.VMULPS(g, xv, t)
		r.addTo(dgamma, t, k)
		w.VMULPS(r.get(gamma, k), g, g)
		w.VADDPS(g, means[i], means[i])
		w.VFMADD231PS(g, xv, meansX[i])
	})
	mean, meanX := w.total(means), w.total(meansX)
	r.divide(mean)
	r.divide(meanX)

	rstd := w.broadcastArg("rstd")
	dz, dbias, h := w.arg("dz"), w.arg("dbias"), w.arg("h")
	r.unrolled("out", 2, func(label string, k mask, _ int) {
		g, xv, y := r.gradient(label, dh, x, gamma, beta, floor, k)
		w.VMULPS(r.get(gamma, k), g, g)
		w.VSUBPS(mean, g, g)
		w.VFNMADD231PS(meanX, xv, g)
		w.VMULPS(rstd, g, g)
		w.store(g, k, r.at(dz))
		w.TESTQ(dbias, dbias)
		w.JZ(operand.LabelRef(label + "bias"))
		r.addTo(dbias, g, k)
		w.Label(label + "bias")
		w.TESTQ(h, h)
		w.JZ(operand.LabelRef(label + "h"))
		r.output(label+"h", y, floor, h, k)
		w.Label(label + "h")
	})
	w.end()
}

// gradient returns dh after dropout and ReLU, x, and what ReLU was given, of the current vector.
func (r *rowPass) gradient(label string, dh, x, gamma, beta gp, floor vec, k mask) (g, xv, y vec) {
	const greater = 0x1e // ordered, quiet
	g, xv = r.get(dh, k), r.get(x, k)
	r.ifKept(label+"all", func(keep mask) { r.scaleKept(keep, g) })
	y = r.activation(xv, gamma, beta, k)
	if r.wide {
		pass := r.K()
		r.VCMPPS(operand.Imm(greater), floor, y, pass)
		r.VMOVAPS_Z(g, pass, g)
	} else {
		pass := r.vec()
		r.VCMPPS(operand.Imm(greater), floor, y, pass)
		r.VANDPS(pass, g, g)
	}
	return g, xv, y
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
