package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// gatv2 is graph attention with scores of sums of rows (Brody, Alon, Yahav, ICLR 2022): per head Z_v = Σ_u α_uv T_u + b, α a softmax over in-edges
// of ⟨a, LeakyReLU(T_u + R_v)⟩, T = H·W_lᵀ + b_l, R = H·W_rᵀ + b_r. Heads are concatenated; a layer that makes logits averages them. Gradients of halo
// rows are returned to their owners in every layer. The formulas are in docs/mathematics.md.
type gatv2 struct {
	linear            // t = T is kept
	width, heads int  // columns of all heads together, heads
	last         bool // average the heads: what it makes are the logits

	r, o, lse, g *gpu.Matrix // R, Σ α T without bias, log-sum-exp and ⟨dO, O⟩: of Rows, the first two of width columns, the others of heads
	do           *gpu.Matrix // Rows × width: the gradient of o, of a layer that averages; else dz is
	dt, dr       *gpu.Matrix // gradients of T and R
	dtHalo       *gpu.Matrix // HaloRows × width: gradients of halo rows of T
	dhHalo       *gpu.Matrix // HaloRows × in: those of halo rows of H, where these are exchanged

	tHaloRows gpu.Matrix // halo rows of T of this epoch: exchanged, or made here
	hHaloRows gpu.Matrix // halo rows of H that these were made of, where they are exchanged
}

func newGATv2(p *Pass, l int, ws *Workspace) *gatv2 {
	width, heads := p.cfg.gatWidth(l), p.cfg.Heads
	c := &gatv2{linear: newLinear(p, l, width, ws, true), width: width, heads: heads, last: l == p.cfg.HiddenLayers()}
	name := func(kind string) string {
		if p.training() {
			return fmt.Sprintf("%s%d", kind, l)
		}
		return "eval-" + kind
	}
	c.r = ws.matrix(name("rows-dst"), p.rowsOf(l), width)
	c.lse = ws.matrix(name("lse"), p.rowsOf(l), heads)
	c.o = ws.matrix(name("attended"), p.rowsOf(l), width)
	if !p.training() {
		return c
	}
	c.g = ws.matrix("gd", p.rowsOf(l), heads)
	if c.last {
		c.do = ws.matrix("do", p.rowsOf(l), width)
	}
	c.dt = ws.matrix("g", p.srcOf(l), width)
	c.dr = ws.matrix("gr", p.rowsOf(l), width)
	c.dtHalo = ws.matrix("ghalo", p.haloOf(l), width)
	if c.lp.Raw {
		c.dhHalo = ws.matrix("hhalo", p.haloOf(l), c.in)
	}
	return c
}

// affine enqueues y = f·wᵀ + bias.
func (c *gatv2) affine(x *exec, y gpu.Matrix, f Features, w gpu.Matrix, bias gpu.Vec) {
	if y.Rows == 0 {
		return
	}
	if !f.sparse() {
		x.linear(gpu.LinearArgs{Z: y, X: f.Dense, W: w, Bias: bias})
		return
	}
	c.project(x, y, f, w, 0)
	x.q.HeadMean(y, y, bias) // of one head: it adds the bias
}

func (c *gatv2) forward(x *exec, h, z gpu.Matrix, then *gpu.Epilogue) {
	pr, lg := &x.params.layers[c.l], x.graph(c.l)
	exchange := x.exchanges(c.l)
	if exchange && c.lp.Raw {
		x.halo.Begin(x.q, c.l, Forward, h)
	}
	c.affine(x, *c.t, c.source(x, h), pr.w, pr.innerBias)
	if exchange && !c.lp.Raw {
		x.halo.Begin(x.q, c.l, Forward, *c.t)
	}
	c.affine(x, *c.r, c.own(x, h), pr.w2, pr.rootBias)
	a := gpu.GATv2Args{O: *c.o, LSE: *c.lse, Inner: lg.Forward.Inner, T: *c.t, R: *c.r, Att: pr.att, Slope: gatSlope}
	if exchange {
		for _, r := range lg.Central {
			a.Lo, a.Hi = r.Lo, r.Hi
			x.q.GATv2Aggregate(a)
		}
	}
	if c.haloRows(x); c.tHaloRows.Rows > 0 {
		a.Halo, a.THalo = lg.Forward.Halo, c.tHaloRows
	}
	next := 0
	if exchange {
		for _, r := range lg.Central {
			c.rows(x, a, next, r.Lo)
			next = r.Hi
		}
	}
	c.rows(x, a, next, lg.Rows)
	x.q.HeadMean(z, *c.o, pr.bias)
	if then != nil {
		x.q.Epilogue(*then)
	}
}

// haloRows leaves the halo rows of T in tHaloRows: those that come, or made of those of H that come or are here.
func (c *gatv2) haloRows(x *exec) {
	pr := &x.params.layers[c.l]
	c.tHaloRows = gpu.Matrix{}
	switch {
	case x.exchanges(c.l) && c.lp.Raw:
		c.hHaloRows = x.halo.Wait(x.q, c.l, Forward)
		c.tHaloRows = c.tHalo.RowRange(0, c.hHaloRows.Rows)
		c.affine(x, c.tHaloRows, Features{Dense: c.hHaloRows}, pr.w, pr.innerBias)
	case x.exchanges(c.l):
		c.tHaloRows = x.halo.Wait(x.q, c.l, Forward)
	case x.replicated(c.l) && c.tHalo.Rows > 0:
		c.tHaloRows = *c.tHalo
		c.affine(x, c.tHaloRows, x.in.Halo, pr.w, pr.innerBias)
	}
}

func (c *gatv2) rows(x *exec, a gpu.GATv2Args, lo, hi int) {
	if lo < hi {
		a.Lo, a.Hi = lo, hi
		x.q.GATv2Aggregate(a)
	}
}

func (c *gatv2) backward(x *exec, dz, dh gpu.Matrix) {
	pr, gr, lg := &x.params.layers[c.l], &x.grads.layers[c.l], x.graph(c.l)
	do := dz
	if c.last {
		do = *c.do
		x.q.HeadMeanBackward(do, dz)
	}
	dst := gpu.GATv2GradDst{DR: *c.dr, DA: *c.o, G: *c.g, DO: do, O: *c.o, LSE: *c.lse, Inner: lg.Forward.Inner, T: *c.t, R: *c.r, Att: pr.att, Slope: gatSlope}
	if c.tHaloRows.Rows > 0 {
		dst.Halo, dst.THalo = lg.Forward.Halo, c.tHaloRows
	}
	x.q.GATv2BackwardDst(dst)
	x.q.ColSum(gr.att, *c.o, 1)
	x.q.ColSum(gr.rootBias, *c.dr, 1)
	src := gpu.GATv2GradSrc{DT: *c.dtHalo, T: c.tHaloRows, A: lg.HaloBack, DO: do, R: *c.r, LSE: *c.lse, G: *c.g, Att: pr.att, Slope: gatSlope}
	if c.tHaloRows.Rows > 0 {
		x.q.GATv2BackwardSrc(src)
	}
	if x.exchanges(c.l) {
		c.returnGrads(x)
	}
	src.DT, src.T, src.A = *c.dt, *c.t, lg.Backward.Inner
	x.q.GATv2BackwardSrc(src)
	c.finish(x, dh)
}

// returnGrads sends the gradients of halo rows to their owners: of T, or of H, whose shares of the gradients of weights are added before the rows may
// be replaced.
func (c *gatv2) returnGrads(x *exec) {
	if !c.lp.Raw {
		x.halo.Begin(x.q, c.l, Backward, *c.dtHalo)
		return
	}
	if pr, gr := &x.params.layers[c.l], &x.grads.layers[c.l]; c.dtHalo.Rows > 0 {
		x.gemm(gpu.GemmArgs{C: gr.w, A: *c.dtHalo, B: c.hHaloRows, TransA: true, Beta: 1})
		x.q.ColSum(gr.innerBias, *c.dtHalo, 1)
		x.gemm(gpu.GemmArgs{C: *c.dhHalo, A: *c.dtHalo, B: pr.w})
	}
	x.halo.Begin(x.q, c.l, Backward, *c.dhHalo)
}

// finish adds what other parts return, and makes the gradients of the first bias and of h. A part whose dh has no row exchanges like the others.
func (c *gatv2) finish(x *exec, dh gpu.Matrix) {
	pr, gr := &x.params.layers[c.l], &x.grads.layers[c.l]
	add := func(y gpu.Matrix) {
		if rows := x.halo.Wait(x.q, c.l, Backward); rows.Rows > 0 && y.Rows > 0 {
			x.q.Aggregate(gpu.AggregateArgs{Y: y, A: x.graph(c.l).Backward.Halo, X: rows, Accumulate: true})
		}
	}
	if x.exchanges(c.l) && !c.lp.Raw {
		add(*c.dt)
	}
	x.q.ColSum(gr.innerBias, *c.dt, 1)
	if x.replicated(c.l) {
		x.q.ColSum(gr.innerBias, *c.dtHalo, 1)
	}
	if dh.Rows > 0 {
		x.gemm(gpu.GemmArgs{C: dh, A: *c.dt, B: pr.w})
		x.gemm(gpu.GemmArgs{C: dh.RowRange(0, c.dr.Rows), A: *c.dr, B: pr.w2, Beta: 1})
	}
	if x.exchanges(c.l) && c.lp.Raw {
		add(dh)
	}
}

func (c *gatv2) weightGrad(x *exec, h, _ gpu.Matrix) {
	gr := &x.grads.layers[c.l]
	var dtHalo gpu.Matrix
	if x.replicated(c.l) {
		dtHalo = *c.dtHalo
	}
	c.projectGrad(x, gr.w, *c.dt, c.source(x, h), dtHalo, x.in.Halo)
	c.projectGrad(x, gr.w2, *c.dr, c.own(x, h), gpu.Matrix{}, Features{})
}
