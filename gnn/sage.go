package gnn

import "capgnn/gpu"

// sage is Z = mean(H)·W_lᵀ + b + H·W_rᵀ (Hamilton, Ying, Leskovec, NeurIPS 2017, mean aggregator).
type sage struct{ linear }

func newSAGE(p *Pass, l int, ws *Workspace) *sage {
	_, out := p.cfg.Width(l)
	return &sage{newLinear(p, l, out, ws, false)}
}

func (c *sage) forward(x *exec, h, z gpu.Matrix, then *gpu.Epilogue) {
	pr := &x.params.layers[c.l]
	root := c.own(x, h)
	if c.precomputed(x) || c.lp.AggregateFirst {
		if !c.precomputed(x) {
			c.gather(x, h)
		}
		x.linear(gpu.LinearArgs{Z: z, X: c.aggregated(x), W: pr.w, X2: root.Dense, W2: pr.w2, Bias: pr.bias, Then: then})
		return
	}
	t, tHalo := c.transform(x, h, pr.w)
	x.aggregate(c.l, Forward, &x.graph(c.l).Forward,
		gpu.AggregateArgs{Y: z, X: t, Accumulate: true, Bias: pr.bias, Then: then}, tHalo,
		func() { c.project(x, z, root, pr.w2, 0) })
}

func (c *sage) backward(x *exec, dz, dh gpu.Matrix) {
	pr := &x.params.layers[c.l]
	c.linear.backward(x, pr.w, x.grads.layers[c.l].w, dz, dh)
	if dh.Rows > 0 {
		x.gemm(gpu.GemmArgs{C: dh.RowRange(0, dz.Rows), A: dz, B: pr.w2, Beta: 1})
	}
}

func (c *sage) weightGrad(x *exec, h, dz gpu.Matrix) {
	gr := &x.grads.layers[c.l]
	c.linear.weightGrad(x, h, gr.w)
	c.projectGrad(x, gr.w2, dz, c.own(x, h), gpu.Matrix{}, Features{})
}
