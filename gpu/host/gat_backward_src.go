package host

// gatGradSrc is a resolved gpu.GATGradSrc.
type gatGradSrc struct {
	dt, ds, t, s dense
	inner, halo  gatTarget
	slope        float32
}

// gatTarget is a block of destination rows and the edges to it: entry columns index its rows.
type gatTarget struct {
	a             sparse
	do, d, lse, g dense
}

// columns returns the destination rows for n heads from head on, of c columns each.
func (t gatTarget) columns(head, n, c int) gatTarget {
	return gatTarget{t.a, t.do.columns(head*c, n*c), t.d.columns(head, n), t.lse.columns(head, n), t.g.columns(head, n)}
}

// heads returns g for n heads from head on, of c columns each.
func (g *gatGradSrc) heads(head, n, c int) *gatGradSrc {
	p := *g
	p.dt, p.t = g.dt.columns(head*c, n*c), g.t.columns(head*c, n*c)
	p.ds, p.s = g.ds.columns(head, n), g.s.columns(head, n)
	p.inner, p.halo = g.inner.columns(head, n, c), g.halo.columns(head, n, c)
	return &p
}

// gatBackwardSrc computes DT and DS, some heads at a time.
func gatBackwardSrc(p *pool, sc *scratch, g *gatGradSrc) {
	heads := g.ds.cols
	c := g.dt.cols / heads
	n, packed := headsAtOnce(sc, g.inner.a, g.inner.a.entries, g.inner.do, g.halo.do, heads, c)
	for h := 0; h < heads; h += n {
		part := g.heads(h, min(n, heads-h), c)
		if packed {
			i, o := &part.inner, &part.halo
			copyPanels(p, sc, &i.do, &o.do, &i.d, &o.d, &i.lse, &o.lse, &i.g, &o.g)
		}
		gatBackwardSrcHeads(p, sc, part)
	}
}

// gatBackwardSrcHeads computes at most gatHeads heads. With β_uv = α_uv·leaky', the sum over edges of the definition is
//
//	DS[u][h] = Σ_v β_uv·(Σ_c DO[v][hC+c]·T[u][hC+c] - G[v][h]) = Σ_c T[u][hC+c]·(Σ_v β_uv·DO[v][hC+c]) - Σ_v β_uv·G[v][h]
//
// so one pass over the rows DO makes two sums, with the weights α and β, and one dot product per row is left instead of
// one per edge.
func gatBackwardSrcHeads(p *pool, sc *scratch, g *gatGradSrc) {
	heads := g.ds.cols
	work := sc.attentions(p.threads, heads, g.dt.cols/heads, true)
	groups(p, work, g.inner.a, g.halo.a, 0, g.dt.rows, true, func(w *attention, lo, hi int) {
		g.blocks(w, w.inner, &g.inner, lo, hi)
		g.blocks(w, w.halo, &g.halo, lo, hi)
		w.dots(g.t.rowRange(lo, hi), w.rows, nil, w.less, g.ds.rowRange(lo, hi))
	})
}

// blocks sums a group's segments of one block of destinations into DT and the scratch rows.
func (g *gatGradSrc) blocks(w *attention, list []gatSegment, dst *gatTarget, lo, hi int) {
	s, dt := g.s.rowRange(lo, hi), g.dt.rowRange(lo, hi)
	for len(list) > 0 {
		b := batch(list)
		w.weightsSrc(b, s, dst, g.slope)
		w.sums(b, dst.a.idx, dst.do, dt, w.rows)
		list = list[len(b):]
	}
}

// weightsSrcGo computes, for each segment and head, with v = idx[e] and x = s[row] + d[v]:
//
//	weight[0][e] = exp(leaky(x) - lse[v]);  weight[1][e] = weight[0][e]·leaky'(x)
//	less[row] = Σ weight[1]·g[v]                  (+ less[row] unless the row's first segment)
func (w *attention) weightsSrcGo(list []gatSegment, s dense, to *gatTarget, slope float32) {
	for i := range list {
		seg := &list[i]
		alpha, beta, score := w.weights(0, seg), w.weights(1, seg), s.row(int(seg.row))
		less := perRow(w.less, seg.row, 1)
		if seg.flags&gatFirst != 0 {
			clear(less)
		}
		for e, v := range to.a.idx[seg.from:][:seg.n] {
			lse, grad := to.lse.row(int(v)), to.g.row(int(v))
			for h, x := range to.d.row(int(v)) {
				y, dy := leaky(score[h]+x, slope)
				p := exp32(y - lse[h])
				alpha[e*w.stride+h], beta[e*w.stride+h] = p, p*dy
				less[h] += p * dy * grad[h]
			}
		}
	}
}
