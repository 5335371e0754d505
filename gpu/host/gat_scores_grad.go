package host

// gatScoresGrad is a resolved gpu.GATScoresGrad.
type gatScoresGrad struct {
	t, dt, ds, dd         dense
	src, dst, dSrc, dDst  []float32
	heads, channels, cols int
}

// gatScoresRows are the rows of T and DT that stay in L1 from one pass of columns to the next.
const gatScoresRows = 16

// part returns g for n heads from head on.
func (g *gatScoresGrad) part(head, n int) *gatScoresGrad {
	p, lo := *g, head*g.channels
	p.heads, p.cols = n, n*g.channels
	p.t, p.dt, p.ds, p.dd = g.t.columns(lo, p.cols), g.dt.columns(lo, p.cols), g.ds.columns(head, n), g.dd.columns(head, n)
	p.src, p.dSrc = g.src[lo:][:p.cols], g.dSrc[lo:][:p.cols]
	if g.dst != nil {
		p.dst, p.dDst = g.dst[lo:][:p.cols], g.dDst[lo:][:p.cols]
	}
	return &p
}

// gatScoresBackward adds to DT, DASrc and DADst, some heads at a time.
func gatScoresBackward(p *pool, sc *scratch, g *gatScoresGrad) {
	for h := 0; h < g.heads; h += gatHeads {
		gatScoresBackwardHeads(p, sc, g.part(h, min(gatHeads, g.heads-h)))
	}
}

// gatScoresBackwardHeads sums the vectors' gradients by blocks of rows.
func gatScoresBackwardHeads(p *pool, sc *scratch, g *gatScoresGrad) {
	cols := g.cols
	head := sc.attentions(p.threads, g.heads, g.channels, false)[0].head
	part := zeros(&sc.sums, blockCount(g.t.rows)*2*cols)
	count := p.blocks(g.t.rows, func(_, block, lo, hi int) {
		pSrc, pDst := part[block*2*cols:][:cols], part[block*2*cols+cols:][:cols]
		for ; lo < hi; lo += gatScoresRows {
			g.rows(lo, min(lo+gatScoresRows, hi), head, pSrc, pDst)
		}
	})
	addBlocks(g.dSrc, part, count, 2*cols, 1)
	if g.dst != nil {
		addBlocks(g.dDst, part[cols:], count, 2*cols, 1)
	}
}

// rowsGo adds the gradients of rows lo to hi: to dt, and the vectors' to dSrc and dDst.
func (g *gatScoresGrad) rowsGo(lo, hi int, dSrc, dDst []float32) {
	for i := lo; i < hi; i++ {
		t, dt := g.t.row(i), g.dt.row(i)
		for h := range g.heads {
			a, b := h*g.channels, (h+1)*g.channels
			ds := g.ds.row(i)[h]
			axpby(dt[a:b], ds, g.src[a:b], 1)
			axpby(dSrc[a:b], ds, t[a:b], 1)
			if g.dst == nil {
				continue
			}
			dd := g.dd.row(i)[h]
			axpby(dt[a:b], dd, g.dst[a:b], 1)
			axpby(dDst[a:b], dd, t[a:b], 1)
		}
	}
}
