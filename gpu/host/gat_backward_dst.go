package host

// gatGradDst is a resolved gpu.GATGradDst.
type gatGradDst struct {
	dd, g, do, o, lse, d dense
	inner, halo          gatSource
	bias                 []float32
	slope                float32
}

// heads returns g for n heads from head on, of c columns each.
func (g *gatGradDst) heads(head, n, c int) *gatGradDst {
	p := *g
	p.do, p.o = g.do.columns(head*c, n*c), g.o.columns(head*c, n*c)
	p.dd, p.g, p.lse, p.d = g.dd.columns(head, n), g.g.columns(head, n), g.lse.columns(head, n), g.d.columns(head, n)
	p.inner, p.halo = g.inner.columns(head, n, c), g.halo.columns(head, n, c)
	if g.bias != nil {
		p.bias = g.bias[head*c:][:n*c]
	}
	return &p
}

// gatBackwardDst computes DD and G, some heads at a time.
func gatBackwardDst(p *pool, sc *scratch, g *gatGradDst) {
	heads := g.lse.cols
	c := g.do.cols / heads
	n, packed := headsAtOnce(sc, g.inner.a, g.inner.a.entries, g.inner.t, g.halo.t, heads, c)
	for h := 0; h < heads; h += n {
		part := g.heads(h, min(n, heads-h), c)
		if packed {
			copyPanels(p, sc, &part.inner.t, &part.halo.t, &part.inner.s, &part.halo.s)
		}
		gatBackwardDstHeads(p, sc, part)
	}
}

// gatBackwardDstHeads computes at most gatHeads heads. With β_uv = α_uv·leaky', the sum over edges of the definition is
//
//	DD[v][h] = Σ_u β_uv·(Σ_c DO[v][hC+c]·T[u][hC+c] - G[v][h]) = Σ_c DO[v][hC+c]·(Σ_u β_uv·T[u][hC+c]) - G[v][h]·Σ_u β_uv
//
// so rows are summed with the weights β, and one dot product per row is left instead of one per edge.
func gatBackwardDstHeads(p *pool, sc *scratch, g *gatGradDst) {
	heads := g.lse.cols
	work := sc.attentions(p.threads, heads, g.do.cols/heads, true)
	groups(p, work, g.inner.a, g.halo.a, 0, g.do.rows, true, func(w *attention, lo, hi int) {
		do, grad := g.do.rowRange(lo, hi), g.g.rowRange(lo, hi)
		w.dots(do, g.o.rowRange(lo, hi), g.bias, nil, grad)
		g.blocks(w, w.inner, &g.inner, grad, lo, hi)
		g.blocks(w, w.halo, &g.halo, grad, lo, hi)
		w.dots(do, w.rows, nil, w.less, g.dd.rowRange(lo, hi))
	})
}

// blocks sums a group's segments of one block of sources into the scratch rows.
func (g *gatGradDst) blocks(w *attention, list []gatSegment, src *gatSource, grad dense, lo, hi int) {
	d, lse := g.d.rowRange(lo, hi), g.lse.rowRange(lo, hi)
	for len(list) > 0 {
		b := batch(list)
		w.weightsDst(b, src.a.idx, src.s, d, lse, grad, g.slope)
		w.sum(b, src.a.idx, src.t, w.rows, nil, nil)
		list = list[len(b):]
	}
}

// weightsDstGo computes, for each segment and head, with x = s[idx[e]] + d[row]:
//
//	weight[e] = exp(leaky(x) - lse[row])·leaky'(x)
//	less[row] = grad[row]·Σ weight                (+ less[row] unless the row's first segment)
func (w *attention) weightsDstGo(list []gatSegment, idx []int32, s, d, lse, grad dense, slope float32) {
	for i := range list {
		seg := &list[i]
		weight, row := w.weights(0, seg), int(seg.row)
		dst, norm := d.row(row), lse.row(row)
		var sum [gatHeads]float32
		for e, u := range idx[seg.from:][:seg.n] {
			for h, x := range s.row(int(u)) {
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
		for h, v := range grad.row(row) {
			less[h] += v * sum[h]
		}
	}
}
