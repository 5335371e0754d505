package host

import "capgnn/gpu"

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

// gatTarget resolves the destination rows that the columns of a index.
func (c checker) gatTarget(name string, a gpu.CSR, do, d, lse, g gpu.Matrix, rows, cols, heads int) gatTarget {
	if a.Begin.Empty() && a.Entries == 0 {
		return gatTarget{a: sparse{list: []int32{}, rows: rows}}
	}
	if a.Rows != rows {
		c.fail("%s has %d rows, want %d", name, a.Rows, rows)
	}
	t := gatTarget{a: c.csr(name, a)}
	if a.Entries > 0 {
		t.do, t.d = c.tall("DO of "+name, do, a.Cols, cols), c.tall("D of "+name, d, a.Cols, heads)
		t.lse, t.g = c.tall("LSE of "+name, lse, a.Cols, heads), c.tall("G of "+name, g, a.Cols, heads)
	}
	return t
}

// GATBackwardSrc: gradient of the source rows and scores.
func (q *Queue) GATBackwardSrc(a gpu.GATGradSrc) {
	c := q.check("GATBackwardSrc")
	rows, cols, heads := a.DT.Rows, a.DT.Cols, a.DS.Cols
	g := &gatGradSrc{
		dt: c.mat("DT", a.DT), ds: c.shaped("DS", a.DS, rows, heads),
		t: c.tall("T", a.T, rows, cols), s: c.tall("S", a.S, rows, heads),
		inner: c.gatTarget("Inner", a.Inner, a.DO, a.D, a.LSE, a.G, rows, cols, heads),
		halo:  c.gatTarget("Halo", a.Halo, a.DOHalo, a.DHalo, a.LSEHalo, a.GHalo, rows, cols, heads),
		slope: a.Slope,
	}
	c.channels(cols, heads)
	if g.dt.empty() {
		return
	}
	q.compute("GATBackwardSrc", gpu.PhaseAggregation, func() {
		q.dev.gatBackwardSrc(g)
		q.count(gpu.Usage{SpMM: (g.inner.a.entries + g.halo.a.entries) * int64(cols)})
	})
}

func (d *Device) gatBackwardSrc(g *gatGradSrc) {
	heads := g.ds.cols
	work := d.attentions(heads)
	d.ranges(g.inner.a, g.halo.a, 0, g.dt.rows, func(w, lo, hi int) {
		att := &work[w]
		att.inner.cut(g.inner.a, lo, hi, heads)
		att.halo.cut(g.halo.a, lo, hi, heads)
		for i := range hi - lo {
			clear(g.ds.row(lo + i))
			g.edges(&att.inner, att.heads, i, lo+i, g.inner)
			g.edges(&att.halo, att.heads, i, lo+i, g.halo)
		}
		dt := g.dt.part(lo, hi)
		att.inner.sum(&d.serial, dt, g.inner.do, heads, false)
		att.halo.sum(&d.serial, dt, g.halo.do, heads, true)
	})
}

// edges computes α_uv of the out-edges of row u in one block of destinations, and adds de_uv to DS[u]. dots is a number
// per head.
func (g *gatGradSrc) edges(s *strip, dots []float32, i, u int, dst gatTarget) {
	from, to := s.row(i)
	t, score, ds := g.t.row(u), g.s.row(u), g.ds.row(u)
	for e := from; e < to; e++ {
		v := int(s.idx[e])
		dotHeads(dots, t, dst.do.row(v), s.coming(e, dst.do))
		dv, lse, gv := dst.d.row(v), dst.lse.row(v), dst.g.row(v)
		for h, x := range dots {
			y, dy := leaky(score[h]+dv[h], g.slope)
			alpha := exp32(y - lse[h])
			s.weight[h*s.span+e] = alpha
			ds[h] += alpha * (x - gv[h]) * dy
		}
	}
}
