package kernel

import "capgnn/gpu/host/workers"

// GATGradDst is a resolved gpu.GATGradDst.
type GATGradDst struct {
	DD, G, DO, O, LSE, D Dense
	Inner, Halo          GATSource
	Bias                 []float32
	Slope                float32
	Drop                 EdgeDrop
}

// heads returns g for n heads from head on, of c columns each.
func (g *GATGradDst) heads(head, n, c int) *GATGradDst {
	p := *g
	p.DO, p.O = g.DO.columns(head*c, n*c), g.O.columns(head*c, n*c)
	p.DD, p.G, p.LSE, p.D = g.DD.columns(head, n), g.G.columns(head, n), g.LSE.columns(head, n), g.D.columns(head, n)
	p.Inner, p.Halo, p.Drop.head = g.Inner.columns(head, n, c), g.Halo.columns(head, n, c), head
	if g.Bias != nil {
		p.Bias = g.Bias[head*c:][:n*c]
	}
	return &p
}

// GATBackwardDst computes DD and G, some heads at a time.
func GATBackwardDst(p *workers.Pool, sc *Scratch, g *GATGradDst) {
	heads := g.LSE.Cols
	c := g.DO.Cols / heads
	n, packed := headsAtOnce(sc, g.Inner.A, g.Inner.A.Entries, g.Inner.T, g.Halo.T, heads, c)
	for h := 0; h < heads; h += n {
		part := g.heads(h, min(n, heads-h), c)
		if packed {
			copyPanels(p, sc, &part.Inner.T, &part.Halo.T, &part.Inner.S, &part.Halo.S)
		}
		gatBackwardDstHeads(p, sc, part)
	}
}

// gatBackwardDstHeads computes at most gatHeads heads. With β_uv = α_uv·leaky', the sum over edges of the definition is
//
//	DD[v][h] = Σ_u β_uv·(m_uv·Σ_c DO[v][hC+c]·T[u][hC+c] - G[v][h]) = Σ_c DO[v][hC+c]·(Σ_u m_uv·β_uv·T[u][hC+c]) - G[v][h]·Σ_u β_uv
//
// so rows are summed with the weights m·β, and one dot product per row is left instead of one per edge.
func gatBackwardDstHeads(p *workers.Pool, sc *Scratch, g *GATGradDst) {
	heads := g.LSE.Cols
	work := sc.attentions(p.Threads, heads, g.DO.Cols/heads, true)
	groups(p, work, g.Inner.A, g.Halo.A, 0, g.DO.Rows, true, func(w *attention, lo, hi int) {
		do, grad := g.DO.RowRange(lo, hi), g.G.RowRange(lo, hi)
		w.dots(do, g.O.RowRange(lo, hi), g.Bias, nil, grad)
		g.blocks(w, w.inner, &g.Inner, grad, lo, hi)
		g.blocks(w, w.halo, &g.Halo, grad, lo, hi)
		w.dots(do, w.rows, nil, w.less, g.DD.RowRange(lo, hi))
	})
}

// blocks sums a group's segments of one block of sources into the scratch rows.
func (g *GATGradDst) blocks(w *attention, list []gatSegment, src *GATSource, grad Dense, lo, hi int) {
	d, lse := g.D.RowRange(lo, hi), g.LSE.RowRange(lo, hi)
	for len(list) > 0 {
		b := batch(list)
		w.weightsDst(b, src.A.Idx, src.S, d, lse, grad, g.Slope)
		w.draw(b, src.A.Idx, src.IDs, &g.Drop, lo)
		w.drop(0, b, &g.Drop)
		w.sum(b, src.A.Idx, src.T, w.rows, nil, nil)
		list = list[len(b):]
	}
}

// weightsDstGo computes, for each segment and head, with x = s[idx[e]] + d[row]:
//
//	weight[e] = exp(leaky(x) - lse[row])·leaky'(x)
//	less[row] = grad[row]·Σ weight                (+ less[row] unless the row's first segment)
func (w *attention) weightsDstGo(list []gatSegment, idx []int32, s, d, lse, grad Dense, slope float32) {
	for i := range list {
		seg := &list[i]
		weight, row := w.weights(0, seg), int(seg.row)
		dst, norm := d.Row(row), lse.Row(row)
		var sum [gatHeads]float32
		for e, u := range idx[seg.from:][:seg.n] {
			for h, x := range s.Row(int(u)) {
				y, dy := leaky(x+dst[h], slope)
				beta := exp32(y-norm[h]) * dy
				weight[e*w.stride+h] = beta
				sum[h] += beta
			}
		}
		less := perRow(w.less, seg.row, 1)
		if seg.flags&gatFirst != 0 {
			clear(less)
		}
		for h, v := range grad.Row(row) {
			less[h] += v * sum[h]
		}
	}
}
