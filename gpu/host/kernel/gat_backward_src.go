package kernel

import "capgnn/gpu/host/workers"

// GATGradSrc is a resolved gpu.GATGradSrc.
type GATGradSrc struct {
	DT, DS, T, S Dense
	Inner, Halo  GATTarget
	Slope        float32
	Drop         EdgeDrop
}

// GATTarget is a block of destination rows and the edges to it: entry columns index its rows.
type GATTarget struct {
	A             Sparse
	DO, D, LSE, G Dense
	IDs           []int32 // of the destination rows, for EdgeDrop
}

// columns returns the destination rows for n heads from head on, of c columns each.
func (t GATTarget) columns(head, n, c int) GATTarget {
	return GATTarget{t.A, t.DO.columns(head*c, n*c), t.D.columns(head, n), t.LSE.columns(head, n), t.G.columns(head, n), t.IDs}
}

// heads returns g for n heads from head on, of c columns each.
func (g *GATGradSrc) heads(head, n, c int) *GATGradSrc {
	p := *g
	p.DT, p.T = g.DT.columns(head*c, n*c), g.T.columns(head*c, n*c)
	p.DS, p.S = g.DS.columns(head, n), g.S.columns(head, n)
	p.Inner, p.Halo, p.Drop.head = g.Inner.columns(head, n, c), g.Halo.columns(head, n, c), head
	return &p
}

// GATBackwardSrc computes DT and DS, some heads at a time.
func GATBackwardSrc(p *workers.Pool, sc *Scratch, g *GATGradSrc) {
	heads := g.DS.Cols
	c := g.DT.Cols / heads
	n, packed := headsAtOnce(sc, g.Inner.A, g.Inner.A.Entries, g.Inner.DO, g.Halo.DO, heads, c)
	for h := 0; h < heads; h += n {
		part := g.heads(h, min(n, heads-h), c)
		if packed {
			i, o := &part.Inner, &part.Halo
			copyPanels(p, sc, &i.DO, &o.DO, &i.D, &o.D, &i.LSE, &o.LSE, &i.G, &o.G)
		}
		gatBackwardSrcHeads(p, sc, part)
	}
}

// gatBackwardSrcHeads computes at most gatHeads heads. With β_uv = α_uv·leaky', the sum over edges of the definition is
//
//	DS[u][h] = Σ_v β_uv·(m_uv·Σ_c DO[v][hC+c]·T[u][hC+c] - G[v][h]) = Σ_c T[u][hC+c]·(Σ_v m_uv·β_uv·DO[v][hC+c]) - Σ_v β_uv·G[v][h]
//
// so one pass over the rows DO makes two sums, with the weights m·α and m·β, and one dot product per row is left
// instead of
// one per edge.
func gatBackwardSrcHeads(p *workers.Pool, sc *Scratch, g *GATGradSrc) {
	heads := g.DS.Cols
	work := sc.attentions(p.Threads, heads, g.DT.Cols/heads, true)
	groups(p, work, g.Inner.A, g.Halo.A, 0, g.DT.Rows, true, func(w *attention, lo, hi int) {
		g.blocks(w, w.inner, &g.Inner, lo, hi)
		g.blocks(w, w.halo, &g.Halo, lo, hi)
		w.dots(g.T.RowRange(lo, hi), w.rows, nil, w.less, g.DS.RowRange(lo, hi))
	})
}

// blocks sums a group's segments of one block of destinations into DT and the scratch rows.
func (g *GATGradSrc) blocks(w *attention, list []gatSegment, dst *GATTarget, lo, hi int) {
	s, dt := g.S.RowRange(lo, hi), g.DT.RowRange(lo, hi)
	for len(list) > 0 {
		b := batch(list)
		w.weightsSrc(b, s, dst, g.Slope)
		w.draw(b, dst.A.Idx, dst.IDs, &g.Drop, lo)
		w.drop(0, b, &g.Drop)
		w.drop(1, b, &g.Drop)
		w.sums(b, dst.A.Idx, dst.DO, dt, w.rows)
		list = list[len(b):]
	}
}

// weightsSrcGo computes, for each segment and head, with v = idx[e] and x = s[row] + d[v]:
//
//	weight[0][e] = exp(leaky(x) - lse[v]);  weight[1][e] = weight[0][e]·leaky'(x)
//	less[row] = Σ weight[1]·g[v]                  (+ less[row] unless the row's first segment)
func (w *attention) weightsSrcGo(list []gatSegment, s Dense, to *GATTarget, slope float32) {
	for i := range list {
		seg := &list[i]
		alpha, beta, score := w.weights(0, seg), w.weights(1, seg), s.Row(int(seg.row))
		less := perRow(w.less, seg.row, 1)
		if seg.flags&gatFirst != 0 {
			clear(less)
		}
		for e, v := range to.A.Idx[seg.from:][:seg.n] {
			lse, grad := to.LSE.Row(int(v)), to.G.Row(int(v))
			for h, x := range to.D.Row(int(v)) {
				y, dy := leaky(score[h]+x, slope)
				p := exp32(y - lse[h])
				alpha[e*w.stride+h], beta[e*w.stride+h] = p, p*dy
				less[h] += p * dy * grad[h]
			}
		}
	}
}
