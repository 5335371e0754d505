package host

import "capgnn/gpu"

// gatGradDst is a resolved gpu.GATGradDst.
type gatGradDst struct {
	dd, g, do, o, lse, d dense
	inner, halo          gatSource
	bias                 []float32
	slope                float32
	channels             int
}

// GATBackwardDst: gradient of the destination scores.
func (q *Queue) GATBackwardDst(a gpu.GATGradDst) {
	c := q.check("GATBackwardDst")
	rows, cols, heads := a.DO.Rows, a.DO.Cols, a.LSE.Cols
	g := &gatGradDst{
		dd: c.shaped("DD", a.DD, rows, heads), g: c.shaped("G", a.G, rows, heads),
		do: c.mat("DO", a.DO), o: c.tall("O", a.O, rows, cols),
		lse: c.tall("LSE", a.LSE, rows, heads), d: c.tall("D", a.D, rows, heads),
		inner: c.gatSource("Inner", a.Inner, a.T, a.S, rows, cols, heads),
		halo:  c.gatSource("Halo", a.Halo, a.THalo, a.SHalo, rows, cols, heads),
		bias:  c.optional("Bias", a.Bias, cols), slope: a.Slope, channels: c.channels(cols, heads),
	}
	if g.do.empty() {
		return
	}
	q.compute("GATBackwardDst", gpu.PhaseAggregation, func() {
		q.dev.gatBackwardDst(g)
		q.count(gpu.Usage{SpMM: (g.inner.a.entries + g.halo.a.entries) * int64(cols)})
	})
}

func (d *Device) gatBackwardDst(g *gatGradDst) {
	work := d.attentions(g.lse.cols)
	d.ranges(g.inner.a, g.halo.a, 0, g.do.rows, func(w, lo, hi int) {
		att := &work[w]
		att.inner.cut(g.inner.a, lo, hi, 0)
		att.halo.cut(g.halo.a, lo, hi, 0)
		for i := range hi - lo {
			v := lo + i
			g.dots(v)
			clear(g.dd.row(v))
			g.edges(&att.inner, i, v, g.inner)
			g.edges(&att.halo, i, v, g.halo)
		}
	})
}

// dots: G[v][h] = Σ_c DO[v][hC+c]·(O[v][hC+c] - Bias[hC+c]).
func (g *gatGradDst) dots(v int) {
	do, o := g.do.row(v), g.o.row(v)
	for h := range g.g.cols {
		var s float32
		if a, b := h*g.channels, (h+1)*g.channels; g.bias == nil {
			s = dot(do[a:b], o[a:b])
		} else {
			for j := a; j < b; j++ {
				s += do[j] * (o[j] - g.bias[j])
			}
		}
		g.g.row(v)[h] = s
	}
}

// edges adds de_uv of one block of sources to DD[v].
func (g *gatGradDst) edges(s *strip, i, v int, src gatSource) {
	from, to := s.row(i)
	do, dv, lse, gv, dd := g.do.row(v), g.d.row(v), g.lse.row(v), g.g.row(v), g.dd.row(v)
	for e := from; e < to; e++ {
		u := int(s.idx[e])
		t, score := src.t.row(u), src.s.row(u)
		for h := range dd {
			y, dy := leaky(score[h]+dv[h], g.slope)
			a, b := h*g.channels, (h+1)*g.channels
			dd[h] += exp32(y-lse[h]) * (dot(do[a:b], t[a:b]) - gv[h]) * dy
		}
	}
}
