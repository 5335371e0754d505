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
			g.edges(&att.inner, att.heads, i, v, g.inner)
			g.edges(&att.halo, att.heads, i, v, g.halo)
		}
	})
}

// dots: G[v][h] = Σ_c DO[v][hC+c]·(O[v][hC+c] - Bias[hC+c]).
func (g *gatGradDst) dots(v int) {
	do, o, out := g.do.row(v), g.o.row(v), g.g.row(v)
	if g.bias == nil {
		dotHeads(out, do, o, nil)
		return
	}
	for h := range out {
		var s float32
		for j := h * g.channels; j < (h+1)*g.channels; j++ {
			s += do[j] * (o[j] - g.bias[j])
		}
		out[h] = s
	}
}

// edges adds de_uv of one block of sources to DD[v]. dots is a number per head.
func (g *gatGradDst) edges(s *strip, dots []float32, i, v int, src gatSource) {
	from, to := s.row(i)
	do, dv, lse, gv, dd := g.do.row(v), g.d.row(v), g.lse.row(v), g.g.row(v), g.dd.row(v)
	for e := from; e < to; e++ {
		u := int(s.idx[e])
		dotHeads(dots, do, src.t.row(u), s.coming(e, src.t))
		score := src.s.row(u)
		for h, x := range dots {
			y, dy := leaky(score[h]+dv[h], g.slope)
			dd[h] += exp32(y-lse[h]) * (x - gv[h]) * dy
		}
	}
}
