package kernel

import "capgnn/gpu/host/workers"

// GATScoresGrad is a resolved gpu.GATScoresGrad.
type GATScoresGrad struct {
	T, DT, DS, DD         Dense
	Src, Dst, DSrc, DDst  []float32
	Heads, Channels, Cols int
}

// gatScoresRows are the rows of T and DT that stay in L1 from one pass of columns to the next.
const gatScoresRows = 16

// part returns g for n heads from head on.
func (g *GATScoresGrad) part(head, n int) *GATScoresGrad {
	p, lo := *g, head*g.Channels
	p.Heads, p.Cols = n, n*g.Channels
	p.T, p.DT, p.DS, p.DD = g.T.columns(lo, p.Cols), g.DT.columns(lo, p.Cols), g.DS.columns(head, n), g.DD.columns(head, n)
	p.Src, p.DSrc = g.Src[lo:][:p.Cols], g.DSrc[lo:][:p.Cols]
	if g.Dst != nil {
		p.Dst, p.DDst = g.Dst[lo:][:p.Cols], g.DDst[lo:][:p.Cols]
	}
	return &p
}

// GATScoresBackward adds to DT, DASrc and DADst, some heads at a time.
func GATScoresBackward(p *workers.Pool, sc *Scratch, g *GATScoresGrad) {
	for h := 0; h < g.Heads; h += gatHeads {
		gatScoresBackwardHeads(p, sc, g.part(h, min(gatHeads, g.Heads-h)))
	}
}

// gatScoresBackwardHeads sums the vectors' gradients by blocks of rows.
func gatScoresBackwardHeads(p *workers.Pool, sc *Scratch, g *GATScoresGrad) {
	cols := g.Cols
	head := sc.attentions(p.Threads, g.Heads, g.Channels, false)[0].head
	part := workers.Zeros(&sc.sums, workers.BlockCount(g.T.Rows)*2*cols)
	count := p.Blocks(g.T.Rows, func(_, block, lo, hi int) {
		pSrc, pDst := part[block*2*cols:][:cols], part[block*2*cols+cols:][:cols]
		for ; lo < hi; lo += gatScoresRows {
			g.rows(lo, min(lo+gatScoresRows, hi), head, pSrc, pDst)
		}
	})
	AddBlocks(g.DSrc, part, count, 2*cols, 1)
	if g.Dst != nil {
		AddBlocks(g.DDst, part[cols:], count, 2*cols, 1)
	}
}

// rowsGo adds the gradients of rows lo to hi: to dt, and the vectors' to dSrc and dDst.
func (g *GATScoresGrad) rowsGo(lo, hi int, dSrc, dDst []float32) {
	for i := lo; i < hi; i++ {
		t, dt := g.T.Row(i), g.DT.Row(i)
		for h := range g.Heads {
			a, b := h*g.Channels, (h+1)*g.Channels
			ds := g.DS.Row(i)[h]
			Axpby(dt[a:b], ds, g.Src[a:b], 1)
			Axpby(dSrc[a:b], ds, t[a:b], 1)
			if g.Dst == nil {
				continue
			}
			dd := g.DD.Row(i)[h]
			Axpby(dt[a:b], dd, g.Dst[a:b], 1)
			Axpby(dDst[a:b], dd, t[a:b], 1)
		}
	}
}
