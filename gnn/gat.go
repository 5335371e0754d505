package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// gatSlope is LeakyReLU's negative slope (docs/mathematics.md).
const gatSlope = 0.2

// gat is graph attention (Veličković et al., ICLR 2018): per head Z_v = Σ_u α_uv T_u + b, T = H·Wᵀ, α a softmax over
// in-edges. Heads are concatenated; a layer that makes logits averages them. The formulas across parts are in docs/mathematics.md.
type gat struct {
	linear            // t = T is kept
	width, heads int  // columns of all heads together, heads
	last         bool // average the heads: what it makes are the logits

	s, d, lse     *gpu.Matrix // scores of sources (Src × heads) and destinations, log-sum-exp (Rows × heads)
	sHalo         *gpu.Matrix // HaloRows × heads
	o             *gpu.Matrix // Rows × width: Σ α T, without bias
	e             *gpu.Matrix // Rows × (width + 3·heads): what the backward pass sends: dO, d, L, g
	dt, ds, dd    *gpu.Matrix // gradients of T, s, d
	dtHalo, dsHal *gpu.Matrix // of halo rows that are transformed here: replicated, or of a layer that returns their gradients
	dhHalo        *gpu.Matrix // HaloRows × in: what the backward pass sends then, the gradients of the halo rows of H

	tHaloRows gpu.Matrix // halo rows of T of this epoch: exchanged, or made here
	hHaloRows gpu.Matrix // halo rows of H that these were made of, of a layer that returns their gradients
}

func newGAT(p *Pass, l int, ws *Workspace) *gat {
	width := p.cfg.gatWidth(l)
	heads := p.cfg.Heads
	c := &gat{linear: newLinear(p, l, width, ws, true), width: width, heads: heads, last: l == p.cfg.HiddenLayers()}
	name := func(kind string) string {
		if p.training() {
			return fmt.Sprintf("%s%d", kind, l)
		}
		return "eval-" + kind
	}
	c.s = ws.matrix(name("score-src"), p.srcOf(l), heads)
	c.d = ws.matrix(name("score-dst"), p.rowsOf(l), heads)
	c.lse = ws.matrix(name("lse"), p.rowsOf(l), heads)
	c.sHalo = ws.matrix(name("score-halo"), p.haloOf(l), heads)
	c.o = ws.matrix(name("attended"), p.rowsOf(l), width)
	if !p.training() {
		return c
	}
	c.e = ws.matrix("e", p.rowsOf(l), width+3*heads)
	if c.lp.Returns {
		c.dhHalo = ws.matrix("hhalo", p.haloOf(l), c.in)
	}
	c.dt = ws.matrix("g", p.srcOf(l), width)
	c.ds = ws.matrix("gs", p.srcOf(l), heads)
	c.dd = ws.matrix("gd", p.rowsOf(l), heads)
	if p.replicated(l) || c.lp.Returns {
		c.dtHalo = ws.matrix("ghalo", p.haloOf(l), width)
		c.dsHal = ws.matrix("gshalo", p.haloOf(l), heads)
	}
	return c
}

func (c *gat) forward(x *exec, h, z gpu.Matrix, then *gpu.Epilogue) {
	pr, lg := &x.params.layers[c.l], x.graph(c.l)
	exchange := x.exchanges(c.l)
	if exchange && c.lp.Returns {
		x.halo.Begin(x.q, c.l, Forward, c.source(x, h).Dense)
	}
	t, tHalo := c.transform(x, h, pr.w)
	if exchange && !c.lp.Returns {
		x.halo.Begin(x.q, c.l, Forward, t)
	}
	x.q.GATScores(c.s.RowRange(0, lg.Rows), *c.d, t.RowRange(0, lg.Rows), pr.aSrc, pr.aDst)
	if lg.Src > lg.Rows {
		x.q.GATScores(c.s.RowRange(lg.Rows, lg.Src), gpu.Matrix{}, t.RowRange(lg.Rows, lg.Src), pr.aSrc, gpu.Vec{})
	}
	a := gpu.GATArgs{O: *c.o, LSE: *c.lse, Inner: lg.Forward.Inner, T: t, S: *c.s, D: *c.d, Slope: gatSlope}
	next := 0
	if exchange {
		for _, r := range lg.Central {
			a.Lo, a.Hi = r.Lo, r.Hi
			x.q.GATAggregate(a)
		}
		tHalo = x.halo.Wait(x.q, c.l, Forward)
		if c.lp.Returns {
			c.hHaloRows, tHalo = tHalo, c.tHalo.RowRange(0, tHalo.Rows)
			if tHalo.Rows > 0 {
				x.q.Linear(gpu.LinearArgs{Z: tHalo, X: c.hHaloRows, W: pr.w})
			}
		}
	}
	c.tHaloRows = tHalo
	if tHalo.Rows > 0 {
		x.q.GATScores(*c.sHalo, gpu.Matrix{}, tHalo, pr.aSrc, gpu.Vec{})
		a.Halo, a.THalo, a.SHalo = lg.Forward.Halo, tHalo, *c.sHalo
	}
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

func (c *gat) rows(x *exec, a gpu.GATArgs, lo, hi int) {
	if lo < hi {
		a.Lo, a.Hi = lo, hi
		x.q.GATAggregate(a)
	}
}

// columns returns the views of a backward row: dO, d, L, g.
func (c *gat) columns(e gpu.Matrix) (do, d, lse, g gpu.Matrix) {
	w, h := c.width, c.heads
	return e.ColRange(0, w), e.ColRange(w, w+h), e.ColRange(w+h, w+2*h), e.ColRange(w+2*h, w+3*h)
}

func (c *gat) backward(x *exec, dz, dh gpu.Matrix) {
	pr, gr, lg := &x.params.layers[c.l], &x.grads.layers[c.l], x.graph(c.l)
	do, d, lse, g := c.columns(*c.e)
	if c.last {
		x.q.HeadMeanBackward(do, dz)
	} else {
		x.q.Copy(do, dz)
	}
	x.q.Copy(d, *c.d)
	x.q.Copy(lse, *c.lse)
	dst := gpu.GATGradDst{DD: *c.dd, G: g, DO: do, O: *c.o, LSE: *c.lse, Inner: lg.Forward.Inner, T: *c.t, S: *c.s, D: *c.d, Slope: gatSlope}
	if c.tHaloRows.Rows > 0 {
		dst.Halo, dst.THalo, dst.SHalo = lg.Forward.Halo, c.tHaloRows, *c.sHalo
	}
	x.q.GATBackwardDst(dst)
	if c.lp.Returns && x.exchanges(c.l) {
		c.returnGrads(x, gpu.GATGradSrc{DO: do, D: d, LSE: lse, G: g, Slope: gatSlope})
	}
	src := gpu.GATGradSrc{DT: *c.dt, DS: *c.ds, T: *c.t, S: *c.s, Inner: lg.Backward.Inner, DO: do, D: d, LSE: lse, G: g, Slope: gatSlope}
	if x.exchanges(c.l) && !c.lp.Returns {
		x.halo.Begin(x.q, c.l, Backward, *c.e)
		if rows := x.halo.Wait(x.q, c.l, Backward); rows.Rows > 0 {
			src.Halo = lg.Backward.Halo
			src.DOHalo, src.DHalo, src.LSEHalo, src.GHalo = c.columns(rows)
		}
	}
	x.q.GATBackwardSrc(src)
	scores := gpu.GATScoresGrad{ASrc: pr.aSrc, ADst: pr.aDst, DASrc: gr.aSrc, DADst: gr.aDst}
	scores.T, scores.DT, scores.DS, scores.DD = c.t.RowRange(0, lg.Rows), c.dt.RowRange(0, lg.Rows), c.ds.RowRange(0, lg.Rows), *c.dd
	x.q.GATScoresBackward(scores)
	scores.ADst, scores.DADst, scores.DD = gpu.Vec{}, gpu.Vec{}, gpu.Matrix{}
	if lg.Src > lg.Rows {
		scores.T, scores.DT, scores.DS = c.t.RowRange(lg.Rows, lg.Src), c.dt.RowRange(lg.Rows, lg.Src), c.ds.RowRange(lg.Rows, lg.Src)
		x.q.GATScoresBackward(scores)
	}
	if x.replicated(c.l) {
		src.Halo = gpu.CSR{}
		c.haloGrads(x, src)
	}
	if dh.Rows > 0 {
		x.q.Gemm(gpu.GemmArgs{C: dh, A: *c.dt, B: pr.w})
	}
	if c.lp.Returns && x.exchanges(c.l) {
		if rows := x.halo.Wait(x.q, c.l, Backward); rows.Rows > 0 && dh.Rows > 0 {
			x.q.Aggregate(gpu.AggregateArgs{Y: dh, A: lg.Backward.Halo, X: rows, Accumulate: true})
		}
	}
}

// haloGrads enqueues the gradients of halo rows that are transformed here, of which src says what they are made of, and adds those of
// the scores' weights.
func (c *gat) haloGrads(x *exec, src gpu.GATGradSrc) {
	if c.dtHalo.Rows == 0 {
		return
	}
	pr, gr := &x.params.layers[c.l], &x.grads.layers[c.l]
	src.DT, src.DS, src.T, src.S, src.Inner = *c.dtHalo, *c.dsHal, c.tHaloRows, *c.sHalo, x.graph(c.l).HaloBack
	x.q.GATBackwardSrc(src)
	x.q.GATScoresBackward(gpu.GATScoresGrad{T: c.tHaloRows, DT: *c.dtHalo, DS: *c.dsHal, ASrc: pr.aSrc, DASrc: gr.aSrc})
}

// returnGrads sends the gradients of halo rows of H to their owners. Those of the weights are added before the rows may be replaced.
func (c *gat) returnGrads(x *exec, src gpu.GATGradSrc) {
	c.haloGrads(x, src)
	if c.dtHalo.Rows > 0 {
		x.q.Gemm(gpu.GemmArgs{C: x.grads.layers[c.l].w, A: *c.dtHalo, B: c.hHaloRows, TransA: true, Beta: 1})
		x.q.Gemm(gpu.GemmArgs{C: *c.dhHalo, A: *c.dtHalo, B: x.params.layers[c.l].w})
	}
	x.halo.Begin(x.q, c.l, Backward, *c.dhHalo)
}

func (c *gat) weightGrad(x *exec, h, _ gpu.Matrix) {
	var dtHalo gpu.Matrix
	if x.replicated(c.l) {
		dtHalo = *c.dtHalo
	}
	c.projectGrad(x, x.grads.layers[c.l].w, *c.dt, c.source(x, h), dtHalo, x.in.Halo)
}
