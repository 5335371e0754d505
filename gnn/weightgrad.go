package gnn

import "capgnn/gpu"

// weightGrad appends the gradient of a term's weight: gᵀ·x, and that of halo rows.
func (d *derivation) weightGrad(t *term, g *value, x operand, halo *value) {
	if t.mix {
		w := d.value(number(g.cols), g.cols, gpu.FP32)
		dw := d.weight(d.Pass.grads, t)
		d.op(list(g, x.v), list(w), func(e *exec) {
			e.gemm(gpu.GemmArgs{C: *w.m, A: x.dense(e), B: *g.m, TransA: true})
			e.q.Axpby(dw, float32(t.beta), *w.m, 1)
		})
		return
	}
	dw := d.weight(d.Pass.grads, t)
	if !d.sparse(t.x) || t.graph && d.fixed(t) {
		d.op(list(g, x.v, halo), nil, func(e *exec) {
			e.gemm(gpu.GemmArgs{C: dw, A: *g.m, B: x.dense(e), TransA: true, Beta: 1})
			if halo != nil && halo.m.Rows > 0 {
				e.gemm(gpu.GemmArgs{C: dw, A: *halo.m, B: e.in.Halo.Dense, TransA: true, Beta: 1})
			}
		})
		return
	}
	turned, add := d.value(number(dw.Cols), dw.Rows, gpu.FP32), d.tied(t.w)
	d.op(list(g, x.v, halo), list(turned), func(e *exec) {
		if add {
			e.q.Transpose(*turned.m, dw)
		}
		e.q.SpMM(*turned.m, x.get(e).SparseT, *g.m, beta(add))
		if halo != nil && halo.m.Rows > 0 {
			e.q.SpMM(*turned.m, e.in.Halo.SparseT, *halo.m, 1)
		}
		e.q.Transpose(dw, *turned.m)
	})
}

// tied reports whether a tensor is read more than once.
func (d *derivation) tied(name string) bool {
	n := 0
	for _, x := range d.nodes {
		for _, t := range x.tensors() {
			if t == name {
				n++
			}
		}
	}
	return n > 1
}

// mixture appends factor·((1−β)I + βWᵀ).
func (d *derivation) mixture(t *term, factor float64) *value {
	w := d.weight(d.params, t)
	turned := t.turned
	if turned == nil {
		turned = d.value(number(w.Cols), w.Rows, gpu.FP32)
		t.turned = turned
		d.op(nil, list(turned), func(x *exec) { x.q.Transpose(*turned.m, w) })
	}
	mix := d.value(number(w.Cols), w.Rows, gpu.FP32)
	d.op(list(turned), list(mix), func(x *exec) {
		m := *mix.m
		x.q.Fill(m, 0)
		x.q.Fill(diagonalOf(m), float32(factor*(1-t.beta)))
		x.q.Axpby(m, float32(factor*t.beta), *turned.m, 1)
	})
	return mix
}
