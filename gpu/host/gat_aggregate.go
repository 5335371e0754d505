package host

import (
	"math"

	"capgnn/gpu"
)

// gatForward is a resolved gpu.GATArgs.
type gatForward struct {
	o, lse, d   dense
	inner, halo gatSource
	bias        []float32
	slope       float32
	lo, hi      int
}

// gatSource is a block of source rows and the edges from it: entry columns index t and s.
type gatSource struct {
	a    sparse
	t, s dense
}

// gatSource resolves the source rows that the columns of a index.
func (c checker) gatSource(name string, a gpu.CSR, t, s gpu.Matrix, rows, cols, heads int) gatSource {
	if a.Begin.Empty() && a.Entries == 0 {
		return gatSource{a: sparse{list: []int32{}, rows: rows}}
	}
	if a.Rows != rows {
		c.fail("%s has %d rows, want %d", name, a.Rows, rows)
	}
	g := gatSource{a: c.csr(name, a)}
	if a.Entries > 0 {
		g.t, g.s = c.tall("T of "+name, t, a.Cols, cols), c.tall("S of "+name, s, a.Cols, heads)
	}
	return g
}

// GATAggregate: attention-weighted sum over in-edges.
func (q *Queue) GATAggregate(a gpu.GATArgs) {
	c := q.check("GATAggregate")
	rows, cols, heads := a.O.Rows, a.O.Cols, a.LSE.Cols
	if a.Lo < 0 || a.Hi < a.Lo || a.Hi > rows {
		c.fail("rows %d to %d of %d", a.Lo, a.Hi, rows)
	}
	c.channels(cols, heads)
	g := &gatForward{
		o: c.mat("O", a.O), lse: c.shaped("LSE", a.LSE, rows, heads), d: c.tall("D", a.D, rows, heads),
		inner: c.gatSource("Inner", a.Inner, a.T, a.S, rows, cols, heads),
		halo:  c.gatSource("Halo", a.Halo, a.THalo, a.SHalo, rows, cols, heads),
		bias:  c.optional("Bias", a.Bias, cols), slope: a.Slope, lo: a.Lo, hi: a.Hi,
	}
	if a.Lo == a.Hi || cols == 0 {
		return
	}
	q.compute("GATAggregate", gpu.PhaseAggregation, func() { q.count(gpu.Usage{SpMM: q.dev.gatAggregate(g)}) })
}

// gatAggregate computes weights and rows range by range. It returns entries × columns.
func (d *Device) gatAggregate(g *gatForward) int64 {
	work := d.attentions(g.lse.cols)
	d.ranges(g.inner.a, g.halo.a, g.lo, g.hi, func(w, lo, hi int) {
		att := &work[w]
		att.inner.cut(g.inner.a, lo, hi, g.lse.cols)
		att.halo.cut(g.halo.a, lo, hi, g.lse.cols)
		for i := range hi - lo {
			g.weights(att, i, lo+i)
		}
		o := g.o.part(lo, hi)
		att.inner.sum(&d.serial, o, g.inner.t, g.lse.cols, false)
		att.halo.sum(&d.serial, o, g.halo.t, g.lse.cols, true)
		if g.bias != nil {
			for i := range o.rows {
				axpby(o.row(i), 1, g.bias, 1)
			}
		}
	})
	entries := g.inner.a.between(g.lo, g.hi) + g.halo.a.between(g.lo, g.hi)
	return entries * int64(g.o.cols)
}

// between returns the entries stored in matrix rows lo to hi, without gaps.
func (a sparse) between(lo, hi int) int64 {
	if lo == 0 && hi == a.rows {
		return a.entries
	}
	n := int64(0)
	for k := a.find(lo); k < a.find(hi); k++ {
		n += a.end[k] - a.begin[k]
	}
	return n
}

// weights computes α and LSE of row v, row i of the strips: scores and their maximum, then the sum of exponentials, then
// the quotients.
func (g *gatForward) weights(att *attention, i, v int) {
	lse, dst := g.lse.row(v), g.d.row(v)
	top := att.heads
	for h := range top {
		top[h] = float32(math.Inf(-1))
	}
	a0, a1 := att.inner.row(i)
	b0, b1 := att.halo.row(i)
	if a0 == a1 && b0 == b1 {
		clear(lse)
		return
	}
	att.inner.scores(a0, a1, g.inner.s, dst, top, g.slope)
	att.halo.scores(b0, b1, g.halo.s, dst, top, g.slope)
	for h := range top {
		in, ha := att.inner.head(h, a0, a1), att.halo.head(h, b0, b1)
		sum := exponentials(in, top[h]) + exponentials(ha, top[h])
		lse[h] = top[h] + float32(math.Log(sum))
		inv := float32(1 / sum)
		axpby(in, inv, in, 0)
		axpby(ha, inv, ha, 0)
	}
}

// head returns the weights of entries from to to for one head.
func (s *strip) head(h, from, to int) []float32 {
	if from == to {
		return nil
	}
	return s.weight[h*s.span+from : h*s.span+to]
}

// scores: weight[h][e] = leaky(src[idx[e]][h] + dst[h]), and the maxima.
func (s *strip) scores(from, to int, src dense, dst, top []float32, slope float32) {
	for e := from; e < to; e++ {
		row := src.row(int(s.idx[e]))
		for h, x := range row {
			y, _ := leaky(x+dst[h], slope)
			s.weight[h*s.span+e] = y
			top[h] = max(top[h], y)
		}
	}
}

// exponentials: w[e] = exp(w[e] - top); it returns their sum.
func exponentials(w []float32, top float32) float64 {
	sum := 0.0
	for e, x := range w {
		y := exp32(x - top)
		w[e] = y
		sum += float64(y)
	}
	return sum
}
