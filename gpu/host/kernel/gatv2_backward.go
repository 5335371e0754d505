package kernel

import "capgnn/gpu/host/workers"

// GATv2GradDst is a resolved gpu.GATv2GradDst. The S of its sources are empty.
type GATv2GradDst struct {
	DR, DA, G, DO, O, LSE, R Dense
	Inner, Halo              GATSource
	Att                      []float32
	Slope                    float32
	Drop                     EdgeDrop
}

// heads returns g for n heads from head on, of c columns each.
func (g *GATv2GradDst) heads(head, n, c int) *GATv2GradDst {
	p := *g
	for _, m := range []*Dense{&p.DR, &p.DA, &p.DO, &p.O, &p.R} {
		*m = m.columns(head*c, n*c)
	}
	p.G, p.LSE = g.G.columns(head, n), g.LSE.columns(head, n)
	p.Inner, p.Halo, p.Att = g.Inner.columns(head, n, c), g.Halo.columns(head, n, c), g.Att[head*c:][:n*c]
	p.Drop.head = head
	return &p
}

// GATv2BackwardDst computes DR, DA and G, some heads at a time.
func GATv2BackwardDst(p *workers.Pool, sc *Scratch, g *GATv2GradDst) {
	heads := g.LSE.Cols
	c := g.DO.Cols / heads
	n, packed := headsAtOnce(sc, g.Inner.A, g.Inner.A.Entries, g.Inner.T, g.Halo.T, heads, c)
	for h := 0; h < heads; h += n {
		part := g.heads(h, min(n, heads-h), c)
		if packed {
			copyPanels(p, sc, &part.Inner.T, &part.Halo.T)
		}
		gatv2BackwardDstHeads(p, sc, part)
	}
}

// gatv2BackwardDstHeads computes at most gatHeads heads: for each batch of segments scores and products with DO, then the gradients of the
// scores, then what they make of the rows.
func gatv2BackwardDstHeads(p *workers.Pool, sc *Scratch, g *GATv2GradDst) {
	heads := g.LSE.Cols
	work := sc.attentions(p.Threads, heads, g.DO.Cols/heads, true)
	groups(p, work, g.Inner.A, g.Halo.A, 0, g.DO.Rows, true, func(w *attention, lo, hi int) {
		do, grad, r := g.DO.RowRange(lo, hi), g.G.RowRange(lo, hi), g.R.RowRange(lo, hi)
		w.dots(do, g.O.RowRange(lo, hi), nil, nil, grad)
		for _, b := range []struct {
			list []gatSegment
			src  *GATSource
		}{{w.inner, &g.Inner}, {w.halo, &g.Halo}} {
			for list := b.list; len(list) > 0; {
				some, idx := batch(list), b.src.A.Idx
				w.scores(some, idx, gatv2Pair{b.src.T, r}, &gatv2Pair{b.src.T, do}, g.Att, g.Slope)
				w.draw(some, idx, b.src.IDs, &g.Drop, lo)
				w.drop(1, some, &g.Drop)
				w.gradOfScoresDst(some, g.LSE.RowRange(lo, hi), grad)
				w.moments(some, idx, gatv2Pair{b.src.T, r}, g.Att, g.Slope, g.DR.RowRange(lo, hi), g.DA.RowRange(lo, hi))
				list = list[len(some):]
			}
		}
	})
}

// GATv2GradSrc is a resolved gpu.GATv2GradSrc.
type GATv2GradSrc struct {
	DT, T         Dense
	A             Sparse
	DO, R, LSE, G Dense
	Att           []float32
	Slope         float32
	IDs           []int32 // of the destination rows, for Drop
	Drop          EdgeDrop
	Heads         int // of LSE and G, which are empty where A is
}

// heads returns g for n heads from head on, of c columns each.
func (g *GATv2GradSrc) heads(head, n, c int) *GATv2GradSrc {
	p := *g
	for _, m := range []*Dense{&p.DT, &p.T, &p.DO, &p.R} {
		*m = m.columns(head*c, n*c)
	}
	p.Drop.head = head
	p.Heads, p.LSE, p.G, p.Att = n, g.LSE.columns(head, n), g.G.columns(head, n), g.Att[head*c:][:n*c]
	return &p
}

// GATv2BackwardSrc computes DT, some heads at a time.
func GATv2BackwardSrc(p *workers.Pool, sc *Scratch, g *GATv2GradSrc) {
	c := g.DT.Cols / g.Heads
	n, packed := headsAtOnce(sc, g.A, g.A.Entries, g.DO, g.R, g.Heads, c)
	for h := 0; h < g.Heads; h += n {
		part := g.heads(h, min(n, g.Heads-h), c)
		if packed {
			copyPanels(p, sc, &part.DO, &part.R, &part.LSE, &part.G)
		}
		gatv2BackwardSrcHeads(p, sc, part)
	}
}

// gatv2BackwardSrcHeads computes at most gatHeads heads, as gatv2BackwardDstHeads does.
func gatv2BackwardSrcHeads(p *workers.Pool, sc *Scratch, g *GATv2GradSrc) {
	work := sc.attentions(p.Threads, g.Heads, g.DT.Cols/g.Heads, false)
	groups(p, work, g.A, Sparse{List: []int32{}, Rows: g.DT.Rows}, 0, g.DT.Rows, true, func(w *attention, lo, hi int) {
		t, dt := g.T.RowRange(lo, hi), g.DT.RowRange(lo, hi)
		for list := w.inner; len(list) > 0; {
			some, idx := batch(list), g.A.Idx
			w.scores(some, idx, gatv2Pair{g.R, t}, &gatv2Pair{g.DO, t}, g.Att, g.Slope)
			w.draw(some, idx, g.IDs, &g.Drop, lo)
			w.drop(1, some, &g.Drop)
			w.gradOfScoresSrc(some, idx, g.LSE, g.G)
			w.drop(0, some, &g.Drop)
			w.sum(some, idx, g.DO, dt, nil, nil)
			w.slopes(some, idx, gatv2Pair{g.R, t}, g.Att, g.Slope, dt)
			list = list[len(some):]
		}
	})
}
