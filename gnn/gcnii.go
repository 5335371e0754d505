package gnn

import (
	"fmt"
	"math"

	"capgnn/gpu"
)

// gcnii is Z = S·((1−β)I + βW) with S = (1−α)·Â·H + α·H⁰ and β = log(θ/ℓ + 1) of layer ℓ = 1, 2, … (Chen et al., ICML 2020, eq. 5), activation and dropout behind
// it, in place. The first layer makes H⁰ and reads what dropout leaves of H⁰; the last one ends with a Linear.
type gcnii struct {
	l       int
	beta    float64
	kept    *gpu.Matrix // layer 0: Src × hidden: H⁰ behind dropout
	s       *gpu.Matrix // Rows × hidden: S
	y       *gpu.Matrix // the last layer: Rows × hidden: what the Linear reads; elsewhere the layer's output
	g       *gpu.Matrix // Src × hidden: Âᵀ·dZ
	dy      *gpu.Matrix // the last layer: the gradient of y
	mix     *gpu.Matrix // hidden × hidden: ((1−β)I + βW)ᵀ times a factor
	w       *gpu.Matrix // hidden × hidden: Wᵀ, or the gradient of the mixture
	dropped bool        // layer 0, in training: dropout comes before the first convolution
}

func newGCNII(p *Pass, l int, ws *Workspace) *gcnii {
	width, rows := p.cfg.Hidden, p.rowsOf(l)
	c := &gcnii{l: l, beta: math.Log(p.cfg.Theta/float64(l+1) + 1)}
	c.mix, c.w = ws.matrix("mix", number(width), width), ws.matrix("mixed", number(width), width)
	last := l == p.cfg.Layers-1
	if !p.training() {
		c.s = ws.matrix("g", rows, width)
		if last {
			c.y = ws.matrix("mlp", rows, width)
		}
		return c
	}
	c.s, c.g = ws.matrix(fmt.Sprintf("s%d", l), rows, width), ws.matrix("g", p.srcOf(l), width)
	if c.dropped = l == 0 && p.cfg.Dropout > 0; c.dropped {
		c.kept = ws.matrix("rows", p.srcOf(0), width)
	}
	if last {
		c.y, c.dy = ws.matrix("mlp", rows, width), ws.matrix("dy", rows, width)
	}
	return c
}

// mixture enqueues mix = factor·((1−β)I + βW)ᵀ, where c.w holds Wᵀ.
func (c *gcnii) mixture(x *exec, factor float64) gpu.Matrix {
	m := *c.mix
	diagonal := gpu.Matrix{Buf: m.Buf, Off: m.Off, Rows: m.Rows, Cols: 1, LD: m.LD + 1}
	x.q.Fill(m, 0)
	x.q.Fill(diagonal, float32(factor*(1-c.beta)))
	x.q.Axpby(m, float32(factor*c.beta), *c.w, 1)
	return m
}

func (c *gcnii) forward(x *exec, h, z gpu.Matrix, _ *gpu.Epilogue) {
	pr := &x.params.layers[c.l]
	if c.l == 0 {
		x.origin.forward(x)
		h = *x.origin.h
		if c.dropped {
			x.q.Epilogue(gpu.Epilogue{Z: h, H: *c.kept, Dropout: x.originDrop()})
			h = *c.kept
		}
	}
	x.aggregate(c.l, Forward, &x.graph(c.l).Forward, gpu.AggregateArgs{Y: *c.s, X: h}, gpu.Matrix{}, nil)
	x.addOrigin(*c.s)
	x.q.Transpose(*c.w, pr.w)
	y := z
	if c.y != nil {
		y = *c.y
	}
	then := gpu.Epilogue{Z: y, H: y, Act: x.cfg.act()}
	if x.training() {
		then.Dropout = x.dropout(c.l)
	}
	x.linear(gpu.LinearArgs{Z: y, X: *c.s, W: c.mixture(x, 1), Then: &then})
	if c.y != nil {
		x.linear(gpu.LinearArgs{Z: z, X: y, W: pr.w2, Bias: pr.bias})
	}
}

func (c *gcnii) backward(x *exec, dz, dh gpu.Matrix) {
	pr, gr := &x.params.layers[c.l], &x.grads.layers[c.l]
	o := x.origin
	if c.y != nil {
		x.q.Fill(*o.dh, 0)
		x.gemm(gpu.GemmArgs{C: gr.w2, A: dz, B: *c.y, TransA: true, Beta: 1})
		x.gemm(gpu.GemmArgs{C: *c.dy, A: dz, B: pr.w2})
		x.activatedGrad(c.l, *c.dy, *c.y)
		dz = *c.dy
	}
	x.gemm(gpu.GemmArgs{C: *c.w, A: *c.s, B: dz, TransA: true})
	x.q.Axpby(gr.w, float32(c.beta), *c.w, 1)
	x.aggregate(c.l, Backward, &x.graph(c.l).Backward, gpu.AggregateArgs{Y: *c.g, X: dz}, gpu.Matrix{}, nil)
	x.q.Transpose(*c.w, pr.w)
	if x.cfg.Alpha != 0 {
		x.gemm(gpu.GemmArgs{C: o.dh.RowRange(0, dz.Rows), A: dz, B: c.mixture(x, x.cfg.Alpha), Beta: 1})
	}
	if c.l > 0 {
		x.gemm(gpu.GemmArgs{C: dh, A: *c.g, B: c.mixture(x, 1-x.cfg.Alpha)})
		return
	}
	if c.dropped {
		dh = *c.kept
		x.gemm(gpu.GemmArgs{C: dh, A: *c.g, B: c.mixture(x, 1-x.cfg.Alpha)})
		x.q.EpilogueBackward(gpu.EpilogueGrad{DH: dh, DZ: dh, Dropout: x.originDrop()})
		x.q.Axpby(*o.dh, 1, dh, 1)
	} else {
		x.gemm(gpu.GemmArgs{C: *o.dh, A: *c.g, B: c.mixture(x, 1-x.cfg.Alpha), Beta: 1})
	}
	o.backward(x)
}

func (c *gcnii) weightGrad(*exec, gpu.Matrix, gpu.Matrix) {}
