package kernel

import "capgnn/gpu/host/workers"

// GATv2Forward is a resolved gpu.GATv2Args. The S of its sources are empty.
type GATv2Forward struct {
	O, LSE, R   Dense
	Inner, Halo GATSource
	Att         []float32
	Slope       float32
	Drop        EdgeDrop
	Lo, Hi      int
}

// heads returns g for n heads from head on, of c columns each.
func (g *GATv2Forward) heads(head, n, c int) *GATv2Forward {
	p := *g
	p.O, p.R, p.LSE = g.O.columns(head*c, n*c), g.R.columns(head*c, n*c), g.LSE.columns(head, n)
	p.Inner, p.Halo, p.Att = g.Inner.columns(head, n, c), g.Halo.columns(head, n, c), g.Att[head*c:][:n*c]
	p.Drop.head = head
	return &p
}

// GATv2Aggregate computes rows lo to hi of O and LSE, some heads at a time.
func GATv2Aggregate(p *workers.Pool, sc *Scratch, g *GATv2Forward) {
	heads := g.LSE.Cols
	c := g.O.Cols / heads
	n, packed := headsAtOnce(sc, g.Inner.A, g.Inner.A.Between(g.Lo, g.Hi), g.Inner.T, g.Halo.T, heads, c)
	for h := 0; h < heads; h += n {
		part := g.heads(h, min(n, heads-h), c)
		if packed {
			copyPanels(p, sc, &part.Inner.T, &part.Halo.T)
		}
		gatv2AggregateHeads(p, sc, part)
	}
}

// gatv2AggregateHeads computes at most gatHeads heads: for each batch of segments first the scores, then the weights, unnormalised, then
// the sums. Rows that are gathered for the scores are in the caches when they are summed.
func gatv2AggregateHeads(p *workers.Pool, sc *Scratch, g *GATv2Forward) {
	heads := g.LSE.Cols
	work := sc.attentions(p.Threads, heads, g.O.Cols/heads, false)
	groups(p, work, g.Inner.A, g.Halo.A, g.Lo, g.Hi, false, func(w *attention, lo, hi int) {
		o, lse := g.O.RowRange(lo, hi), g.LSE.RowRange(lo, hi)
		for _, r := range w.bare {
			clear(lse.Row(r))
			clear(o.Row(r))
		}
		for _, b := range []struct {
			list []gatSegment
			src  *GATSource
		}{{w.inner, &g.Inner}, {w.halo, &g.Halo}} {
			for list := b.list; len(list) > 0; {
				some, idx := batch(list), b.src.A.Idx
				w.scores(some, idx, gatv2Pair{b.src.T, g.R.RowRange(lo, hi)}, nil, g.Att, g.Slope)
				w.softmaxOfScores(some, lse)
				w.draw(some, idx, b.src.IDs, &g.Drop, lo)
				w.drop(0, some, &g.Drop)
				w.sum(some, idx, b.src.T, o, w.factors, nil)
				list = list[len(some):]
			}
		}
	})
}
