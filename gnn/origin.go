package gnn

import (
	"fmt"
	"math"

	"capgnn/gpu"
)

// originDropout is the layer number in the counters of the dropout that comes before the first convolution of APPNP and GCNII: the first number that no layer has.
const originDropout = 64

// origin makes H⁰ from the features of the vertices that layer 0 reads. Every layer of APPNP and GCNII adds a share of H⁰ to its sums over neighbours, and
// its part to the gradient of H⁰. f is the activation.
//
//	APPNP: H⁰ = lin2(dropout(f(lin1(dropout(X)))))
//	GCNII: H⁰ = f(lins.0(dropout(X)))
type origin struct {
	x  linear      // products with features
	h  *gpu.Matrix // Src of layer 0 × originWidth: H⁰
	dh *gpu.Matrix // its gradient; only training
	y  *gpu.Matrix // APPNP: Src × hidden: behind dropout
	dy *gpu.Matrix // its gradient
}

func (p *Pass) newOrigin(ws *Workspace) *origin {
	o := &origin{x: linear{l: 0}}
	src, hidden := p.srcOf(0), p.cfg.Hidden
	if p.in.X.sparse() {
		o.x.wt = ws.matrix("wt", number(p.cfg.In), hidden)
		if p.training() {
			o.x.dwt = ws.matrix("dwt", number(p.cfg.In), hidden)
		}
	}
	o.h = ws.matrix("origin", src, p.cfg.originWidth())
	if p.training() {
		o.dh = ws.matrix("origin gradient", src, p.cfg.originWidth())
	}
	if p.cfg.Kind == APPNP {
		o.y = ws.matrix("mlp0", src, hidden)
		if p.training() {
			o.dy = ws.matrix("dy", src, hidden)
		}
	}
	return o
}

// forward makes H⁰.
func (o *origin) forward(x *exec) {
	pr := &x.params.layers[0].origin
	if x.cfg.Kind == GCNII {
		o.dense(x, *o.h, pr[0], gpu.Dropout{})
		return
	}
	o.dense(x, *o.y, pr[0], x.originDrop())
	x.linear(gpu.LinearArgs{Z: *o.h, X: *o.y, W: pr[1].w, Bias: pr[1].bias})
}

// dense enqueues y = dropout(f(X·Wᵀ + b)).
func (o *origin) dense(x *exec, y gpu.Matrix, a affine, drop gpu.Dropout) {
	args := gpu.LinearArgs{Z: y, Bias: a.bias, Then: &gpu.Epilogue{Z: y, H: y, Act: x.cfg.act(), Dropout: drop}}
	if f := x.features(); f.sparse() {
		o.x.project(x, y, f, a.w, 0)
		args.X, args.W, args.Beta = gpu.Matrix{Rows: y.Rows}, gpu.Matrix{Rows: y.Cols}, 1
	} else {
		args.X, args.W = f.Dense, a.w
	}
	x.linear(args)
}

// originDrop is the dropout before the first convolution.
func (x *exec) originDrop() gpu.Dropout {
	if !x.training() || x.cfg.Dropout == 0 {
		return gpu.Dropout{}
	}
	return x.dropping(originDropout, x.graph(0).Src)
}

// backward adds the gradients of the weights that made H⁰. The gradient of H⁰, dh, is complete.
func (o *origin) backward(x *exec) {
	pr, gr := &x.params.layers[0].origin, &x.grads.layers[0].origin
	y, dy, drop := *o.h, *o.dh, gpu.Dropout{}
	if x.cfg.Kind == APPNP {
		x.q.ColSum(gr[1].bias, *o.dh, 1)
		x.gemm(gpu.GemmArgs{C: gr[1].w, A: *o.dh, B: *o.y, TransA: true, Beta: 1})
		y, dy, drop = *o.y, *o.dy, x.originDrop()
		x.gemm(gpu.GemmArgs{C: dy, A: *o.dh, B: pr[1].w})
	}
	// What was dropped is 0 in y, and what was not has the sign of what f read.
	x.q.EpilogueBackward(gpu.EpilogueGrad{DH: dy, X: y, DZ: dy, Act: x.cfg.act(), Dropout: drop, DBias: gr[0].bias})
	o.x.projectGrad(x, gr[0].w, dy, x.features(), gpu.Matrix{}, Features{})
}

// originRows returns rows of H⁰: those that this pass made, or those that came with the rows of the layer before.
func (x *exec) originRows(n int) gpu.Matrix {
	if x.first > 0 {
		in, _ := x.cfg.Width(x.first)
		return x.in.X.Dense.RowRange(0, n).ColRange(in, in+x.cfg.originWidth())
	}
	return x.origin.h.RowRange(0, n)
}

// addOrigin enqueues s = (1−α)·s + α·H⁰.
func (x *exec) addOrigin(s gpu.Matrix) {
	if a := x.cfg.Alpha; a != 0 {
		x.q.Axpby(s, float32(a), x.originRows(s.Rows), float32(1-a))
	}
}

// propagation is a layer without a weight: Z = Â·H of SGC, with the bias in the last layer, and Z = (1−α)·Â·H + α·H⁰ of APPNP.
//
// Backward, APPNP's layers leave the factors 1−α out: with U_K the gradient of the logits and U_{ℓ-1} = Âᵀ·U_ℓ the gradient of H⁰ is
// Σ_{ℓ=1..K} α·(1−α)^{K-ℓ}·U_ℓ + (1−α)^K·U_0.
type propagation struct {
	l int
	g *gpu.Matrix // APPNP's layer 0: Src × out: U_0
}

func newPropagation(p *Pass, l int, ws *Workspace) *propagation {
	c := &propagation{l: l}
	if l == 0 && p.training() {
		c.g = ws.matrix("g", p.srcOf(0), p.cfg.Out)
	}
	return c
}

func (c *propagation) forward(x *exec, h, z gpu.Matrix, _ *gpu.Epilogue) {
	if c.l == 0 {
		x.origin.forward(x)
		h = *x.origin.h
	}
	x.aggregate(c.l, Forward, &x.graph(c.l).Forward, gpu.AggregateArgs{Y: z, X: h, Bias: x.params.layers[c.l].bias}, gpu.Matrix{}, nil)
	if x.cfg.Kind.KeepsOrigin() {
		x.addOrigin(z)
	}
}

func (c *propagation) backward(x *exec, dz, dh gpu.Matrix) {
	keeps := x.cfg.Kind.KeepsOrigin()
	behind := x.cfg.Layers - 1 - c.l // how many layers come behind this one
	if keeps {
		if behind == 0 {
			x.q.Fill(*x.origin.dh, 0)
		}
		x.q.Axpby(x.origin.dh.RowRange(0, dz.Rows), float32(x.cfg.Alpha*math.Pow(1-x.cfg.Alpha, float64(behind))), dz, 1)
	}
	if c.l == 0 {
		dh = *c.g
	}
	x.aggregate(c.l, Backward, &x.graph(c.l).Backward, gpu.AggregateArgs{Y: dh, X: dz}, gpu.Matrix{}, nil)
	if c.l == 0 {
		x.q.Axpby(*x.origin.dh, float32(math.Pow(1-x.cfg.Alpha, float64(behind+1))), dh, 1)
		x.origin.backward(x)
	}
}

func (c *propagation) weightGrad(*exec, gpu.Matrix, gpu.Matrix) {}

// exampleLayout lists the tensors of a layer of SGC, APPNP and GCNII, as SGConv and PyG's examples of the other two have them. Those of H⁰ belong to layer 0.
func (c Config) exampleLayout(l int) (ts []Tensor) {
	linear := func(name string, out, in int) {
		ts = append(ts, Tensor{Name: name + ".weight", Shape: []int{out, in}}, Tensor{Name: name + ".bias", Shape: []int{out}})
	}
	first, last := l == 0, l == c.Layers-1
	switch {
	case c.Kind == SGC:
		if first {
			ts = append(ts, Tensor{Name: "lin.weight", Shape: []int{c.Out, c.In}})
		}
		if last {
			ts = append(ts, Tensor{Name: "lin.bias", Shape: []int{c.Out}})
		}
	case c.Kind == APPNP && first:
		linear("lin1", c.Hidden, c.In)
		linear("lin2", c.Out, c.Hidden)
	case c.Kind == GCNII:
		if first {
			linear("lins.0", c.Hidden, c.In)
		}
		ts = append(ts, Tensor{Name: fmt.Sprintf("convs.%d.weight1", l), Shape: []int{c.Hidden, c.Hidden}})
		if last {
			linear("lins.1", c.Out, c.Hidden)
		}
	}
	return ts
}
