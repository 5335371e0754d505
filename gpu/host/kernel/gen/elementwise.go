package main

import "github.com/mmcloughlin/avo/operand"

// elementwiseKernels writes loops over one row, or over a matrix without gaps.
func elementwiseKernels(w *writer) {
	w.both(func() {
		axpbyKernel(w, "scale", "sets dst[j] = a·src[j].", func(r *rowPass, dst gp, a, _ vec, v vec, k mask) vec {
			w.VMULPS(a, v, v)
			return v
		})
		axpbyKernel(w, "add", "sets dst[j] += a·src[j].", func(r *rowPass, dst gp, a, _ vec, v vec, k mask) vec {
			d := r.get(dst, k)
			w.VFMADD231PS(v, a, d)
			return d
		})
		axpbyKernel(w, "mix", "sets dst[j] = a·src[j] + b·dst[j].", func(r *rowPass, dst gp, a, b vec, v vec, k mask) vec {
			d := r.get(dst, k)
			w.VMULPS(b, d, d)
			w.VFMADD231PS(v, a, d)
			return d
		})
		dotWide(w)
		adamStep(w)
	})
}

func axpbyKernel(w *writer, rest, doc string, value func(r *rowPass, dst gp, a, b, v vec, k mask) vec) {
	w.begin(w.name("axpby", rest), doc, "func(n int, dst *float32, a float32, src *float32, b float32)")
	r := startRowPass(w, mem{})
	dst, src := w.arg("dst"), w.arg("src")
	a, b := w.broadcastArg("a"), w.broadcastArg("b")
	r.columns("column", func(k mask) { w.store(value(r, dst, a, b, r.get(src, k), k), k, r.at(dst)) })
	w.end()
}

// dotWide multiplies and adds in float64, in one sum per lane of two vectors.
func dotWide(w *writer) {
	w.begin(w.name("dot", "wide"), "returns the sum of a[j]·b[j] in float64.", "func(n int, a, b *float32) (sum float64)")
	r := startRowPass(w, mem{})
	a, b := w.arg("a"), w.arg("b")
	sums := w.vecs(2)
	w.zero(sums...)
	r.columns("column", func(k mask) {
		u, v := w.widen(r.get(a, k)), w.widen(r.get(b, k))
		for i, s := range sums {
			w.VFMADD231PD(u[i], v[i], s)
		}
	})
	w.VADDPD(sums[1], sums[0], sums[0])
	w.fold(sums[0], w.VADDPD)
	w.VMOVSD(sums[0].AsX(), w.result(0))
	w.end()
}

// widen returns the two halves of v as float64. v keeps its value.
func (w *writer) widen(v vec) [2]vec {
	low, high := w.vec(), w.vec()
	if w.wide {
		w.VCVTPS2PD(v.AsY(), low)
		w.VEXTRACTF64X4(operand.Imm(1), v, high.AsY())
		w.VCVTPS2PD(high.AsY(), high)
	} else {
		w.VCVTPS2PD(v.AsX(), low)
		w.VEXTRACTF128(operand.Imm(1), v, high.AsX())
		w.VCVTPS2PD(high.AsX(), high)
	}
	return [2]vec{low, high}
}

// fold leaves the fold of v's float64 lanes by op in the first lane, as a tree that depends on the vector's size only.
func (w *writer) fold(v vec, op func(ops ...operand.Op)) {
	t := w.vec()
	if w.wide {
		w.VEXTRACTF64X4(operand.Imm(1), v, t.AsY())
		op(t.AsY(), v.AsY(), v.AsY())
	}
	w.VEXTRACTF128(operand.Imm(1), v.AsY(), t.AsX())
	op(t.AsX(), v.AsX(), v.AsX())
	w.VPERMILPD(operand.Imm(1), v.AsX(), t.AsX())
	op(t.AsX(), v.AsX(), v.AsX())
}

// result returns where a result lies.
func (w *writer) result(i int) mem {
	out, err := w.ReturnIndex(i).Resolve()
	if err != nil {
		panic(err)
	}
	return out.Addr
}

// adamStep is the loop of gpu.AdamArgs; its factors are those of kernel.Adam.
func adamStep(w *writer) {
	w.begin(w.name("adam", "step"), "is adam.run; vmax may be nil.",
		"func(n int, param, grad, m, v, vmax *float32, shrink, decay, b1, c1, b2, c2, step, root, eps float32)")
	r := startRowPass(w, mem{})
	param, grad, m1, m2, vmax := w.arg("param"), w.arg("grad"), w.arg("m"), w.arg("v"), w.arg("vmax")
	shrink, decay, eps := w.broadcastArg("shrink"), w.broadcastArg("decay"), w.broadcastArg("eps")
	b1, c1, b2, c2 := w.broadcastArg("b1"), w.broadcastArg("c1"), w.broadcastArg("b2"), w.broadcastArg("c2")
	step, root := w.broadcastArg("step"), w.broadcastArg("root")
	r.columns("column", func(k mask) {
		p, g := r.get(param, k), r.get(grad, k)
		w.VFNMADD231PS(p, shrink, p)
		w.VFMADD231PS(p, decay, g)
		m := r.get(m1, k)
		w.VMULPS(b1, m, m)
		w.VFMADD231PS(g, c1, m)
		w.store(m, k, r.at(m1))
		w.VMULPS(g, g, g)
		v := r.get(m2, k)
		w.VMULPS(b2, v, v)
		w.VFMADD231PS(g, c2, v)
		w.store(v, k, r.at(m2))
		label := "last"
		if k != nil {
			label = "restlast"
		}
		w.TESTQ(vmax, vmax)
		w.JZ(operand.LabelRef(label))
		w.VMAXPS(r.get(vmax, k), v, v)
		w.store(v, k, r.at(vmax))
		w.Label(label)
		w.VSQRTPS(v, v)
		w.VFMADD213PS(eps, root, v)
		w.VDIVPS(v, m, m)
		w.VFNMADD231PS(m, step, p)
		w.store(p, k, r.at(param))
	})
	w.end()
}
