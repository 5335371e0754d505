package gnn

import "capgnn/gpu"

// gcn is Z = Â·H·Wᵀ + b (Kipf and Welling, ICLR 2017), Â as scales of the operand.
type gcn struct{ linear }

func newGCN(p *Pass, l int, ws *Workspace) *gcn {
	_, out := p.cfg.Width(l)
	return &gcn{newLinear(p, l, out, ws, false)}
}

func (c *gcn) forward(x *exec, h, z gpu.Matrix, then *gpu.Epilogue) {
	pr := &x.params.layers[c.l]
	if c.precomputed(x) {
		x.linear(gpu.LinearArgs{Z: z, X: c.aggregated(x), W: pr.w, Bias: pr.bias, Then: then})
		return
	}
	if c.lp.AggregateFirst {
		x.linear(gpu.LinearArgs{Z: z, X: c.gather(x, h), W: pr.w, Bias: pr.bias, Then: then})
		return
	}
	t, tHalo := c.transform(x, h, pr.w)
	x.aggregate(c.l, Forward, &x.graph(c.l).Forward, gpu.AggregateArgs{Y: z, X: t, Bias: pr.bias, Then: then}, tHalo, nil)
}

func (c *gcn) backward(x *exec, dz, dh gpu.Matrix) {
	c.linear.backward(x, x.params.layers[c.l].w, x.grads.layers[c.l].w, dz, dh)
}

func (c *gcn) weightGrad(x *exec, h, _ gpu.Matrix) { c.linear.weightGrad(x, h, x.grads.layers[c.l].w) }
