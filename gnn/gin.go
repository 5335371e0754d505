package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// gin is Z = MLP((1+ε)H + Σ_{N(v)} H), MLP = Linear, activation, Linear (Xu et al., ICLR 2019). The first weight is moved before
// the aggregation where that is cheaper: the sum is linear.
type gin struct {
	linear
	y    *gpu.Matrix // Rows × out: after the first Linear and activation
	dy   *gpu.Matrix // Rows × out: its gradient
	du   *gpu.Matrix // Rows × out: that of the first Linear's output; dy unless it is stored in BF16
	self *gpu.Matrix // Rows × in: (1+ε)X + ΣX of a precomputed first layer
}

func newGIN(p *Pass, l int, ws *Workspace) *gin {
	_, out := p.cfg.Width(l)
	c := &gin{linear: newLinear(p, l, out, ws, true)}
	rows := p.rowsOf(l)
	name := "dy"
	if p.training() {
		name = fmt.Sprintf("mlp%d", l)
		c.dy = ws.matrix("dy", rows, c.out)
		c.du = c.dy
		if t := p.cfg.GatherType(p.plan, l, Backward); t != gpu.FP32 && !c.lp.BackwardIn {
			c.du = ws.typed("du", rows, c.out, t)
		}
	}
	c.y = ws.matrix(name, rows, c.out)
	if l == 0 && p.plan.Input == Precomputed {
		c.self = ws.matrix("self", rows, c.in)
		if p.training() {
			c.ds = ws.matrix("g", rows, c.in)
		}
	}
	return c
}

func (c *gin) forward(x *exec, h, z gpu.Matrix, then *gpu.Epilogue) {
	pr := &x.params.layers[c.l]
	rows := x.graph(c.l).Rows
	relu := &gpu.Epilogue{Z: *c.y, H: *c.y, Act: x.cfg.act()}
	switch {
	case c.precomputed(x):
		x.q.Copy(*c.self, c.aggregated(x))
		x.q.AddScaled(*c.self, x.in.X.Dense.RowRange(0, rows), pr.eps)
		x.linear(gpu.LinearArgs{Z: *c.y, X: *c.self, W: pr.w, Bias: pr.innerBias, Then: relu})
	case c.lp.AggregateFirst:
		s := c.gather(x, h)
		x.q.AddScaled(s, c.source(x, h).Dense.RowRange(0, rows), pr.eps)
		x.linear(gpu.LinearArgs{Z: *c.y, X: s, W: pr.w, Bias: pr.innerBias, Then: relu})
	default:
		t, tHalo := c.transform(x, h, pr.w)
		x.aggregate(c.l, Forward, &x.graph(c.l).Forward,
			gpu.AggregateArgs{Y: *c.y, X: t, Accumulate: true, Bias: pr.innerBias, Then: relu}, tHalo,
			func() {
				x.q.Fill(*c.y, 0)
				x.q.AddScaled(*c.y, t.RowRange(0, rows), pr.eps)
			})
	}
	x.linear(gpu.LinearArgs{Z: z, X: *c.y, W: pr.w2, Bias: pr.bias, Then: then})
}

func (c *gin) backward(x *exec, dz, dh gpu.Matrix) {
	pr, gr := &x.params.layers[c.l], &x.grads.layers[c.l]
	rows := x.graph(c.l).Rows
	du := *c.du
	x.gemm(gpu.GemmArgs{C: gr.w2, A: dz, B: *c.y, TransA: true, Beta: 1})
	x.gemm(gpu.GemmArgs{C: *c.dy, A: dz, B: pr.w2})
	x.q.EpilogueBackward(gpu.EpilogueGrad{DH: *c.dy, X: *c.y, DZ: du, Act: x.cfg.act(), DBias: gr.innerBias})
	if !c.keepsAggregate(x) {
		g := c.scatter(x, du)
		x.q.AddScaled(g.RowRange(0, rows), du, pr.eps)
		x.q.Dot(gr.eps, du, c.t.RowRange(0, rows), 1)
		if dh.Rows > 0 {
			x.gemm(gpu.GemmArgs{C: dh, A: g, B: pr.w})
		}
		return
	}
	sum := c.s
	if c.precomputed(x) {
		sum = c.self
	}
	x.gemm(gpu.GemmArgs{C: gr.w, A: du, B: *sum, TransA: true, Beta: 1})
	x.gemm(gpu.GemmArgs{C: *c.ds, A: du, B: pr.w})
	if c.l > 0 {
		c.scatterIn(x, *c.ds, dh)
		x.q.AddScaled(dh.RowRange(0, rows), *c.ds, pr.eps)
	}
}

func (c *gin) weightGrad(x *exec, h, _ gpu.Matrix) {
	gr := &x.grads.layers[c.l]
	if c.keepsAggregate(x) {
		x.q.Dot(gr.eps, *c.ds, c.source(x, h).Dense.RowRange(0, x.graph(c.l).Rows), 1)
		return
	}
	c.linear.weightGrad(x, h, gr.w)
}
