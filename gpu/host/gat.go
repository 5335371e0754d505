package host

import (
	"capgnn/gpu"
	"capgnn/gpu/check"
)

// GATScores: s[i][h] = Σ_c aSrc[hC+c]·T[i][hC+c], d likewise with aDst.
func (q *Queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	q.check("GATScores").GATScores(s, d, t, aSrc, aDst)
	feat, src, w := denseOf(t), denseOf(s), values(aSrc)
	var dst dense
	var wd []float32
	if !d.Empty() {
		dst, wd = denseOf(d), values(aDst)
	}
	if src.empty() {
		return
	}
	n := t.Cols / s.Cols
	q.compute("GATScores", gpu.PhaseOther, func() {
		q.dev.pool.rows(feat.rows, feat.cols, func(_, lo, hi int) {
			rows := feat.rowRange(lo, hi)
			gatDots(n, rows, dense{w, hi - lo, feat.cols, 0}, nil, nil, src.rowRange(lo, hi))
			if wd != nil {
				gatDots(n, rows, dense{wd, hi - lo, feat.cols, 0}, nil, nil, dst.rowRange(lo, hi))
			}
		})
	})
}

// GATScoresBackward: gradient of GATScores.
func (q *Queue) GATScoresBackward(a gpu.GATScoresGrad) {
	q.check("GATScoresBackward").GATScoresBackward(a)
	if a.T.Empty() {
		return
	}
	cols, heads := a.T.Cols, a.DS.Cols
	g := &gatScoresGrad{
		t: denseOf(a.T), dt: denseOf(a.DT), ds: denseOf(a.DS), src: values(a.ASrc), dSrc: values(a.DASrc),
		heads: heads, channels: cols / heads, cols: cols,
	}
	if !a.DD.Empty() {
		g.dd, g.dst, g.dDst = denseOf(a.DD), values(a.ADst), values(a.DADst)
	}
	q.compute("GATScoresBackward", gpu.PhaseOther, func() {
		gatScoresBackward(q.dev.pool, &q.dev.scratch, g)
	})
}

// gatSourceOf resolves the source rows that the columns of a index.
func gatSourceOf(a gpu.CSR, t, s gpu.Matrix, rows int) gatSource {
	if !check.Given(a) {
		return gatSource{a: sparse{list: []int32{}, rows: rows}}
	}
	g := gatSource{a: sparseOf(a)}
	if a.Entries > 0 {
		g.t, g.s = denseOf(t), denseOf(s)
	}
	return g
}

// GATAggregate: attention-weighted sum over in-edges.
func (q *Queue) GATAggregate(a gpu.GATArgs) {
	q.check("GATAggregate").GATAggregate(a)
	rows, cols := a.O.Rows, a.O.Cols
	g := &gatForward{
		o: denseOf(a.O), lse: denseOf(a.LSE), d: denseOf(a.D),
		inner: gatSourceOf(a.Inner, a.T, a.S, rows), halo: gatSourceOf(a.Halo, a.THalo, a.SHalo, rows),
		bias: values(a.Bias), slope: a.Slope, lo: a.Lo, hi: a.Hi,
	}
	if a.Lo == a.Hi || cols == 0 {
		return
	}
	q.compute("GATAggregate", gpu.PhaseAggregation, func() {
		gatAggregate(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.inner.a.between(g.lo, g.hi) + g.halo.a.between(g.lo, g.hi)) * int64(cols)})
	})
}

// GATBackwardDst: gradient of the destination scores.
func (q *Queue) GATBackwardDst(a gpu.GATGradDst) {
	q.check("GATBackwardDst").GATBackwardDst(a)
	rows, cols := a.DO.Rows, a.DO.Cols
	g := &gatGradDst{
		dd: denseOf(a.DD), g: denseOf(a.G), do: denseOf(a.DO), o: denseOf(a.O), lse: denseOf(a.LSE), d: denseOf(a.D),
		inner: gatSourceOf(a.Inner, a.T, a.S, rows), halo: gatSourceOf(a.Halo, a.THalo, a.SHalo, rows),
		bias: values(a.Bias), slope: a.Slope,
	}
	if g.do.empty() {
		return
	}
	q.compute("GATBackwardDst", gpu.PhaseAggregation, func() {
		gatBackwardDst(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.inner.a.entries + g.halo.a.entries) * int64(cols)})
	})
}

// gatTargetOf resolves the destination rows that the columns of a index.
func gatTargetOf(a gpu.CSR, do, d, lse, g gpu.Matrix, rows int) gatTarget {
	if !check.Given(a) {
		return gatTarget{a: sparse{list: []int32{}, rows: rows}}
	}
	t := gatTarget{a: sparseOf(a)}
	if a.Entries > 0 {
		t.do, t.d, t.lse, t.g = denseOf(do), denseOf(d), denseOf(lse), denseOf(g)
	}
	return t
}

// GATBackwardSrc: gradient of the source rows and scores.
func (q *Queue) GATBackwardSrc(a gpu.GATGradSrc) {
	q.check("GATBackwardSrc").GATBackwardSrc(a)
	rows, cols := a.DT.Rows, a.DT.Cols
	g := &gatGradSrc{
		dt: denseOf(a.DT), ds: denseOf(a.DS), t: denseOf(a.T), s: denseOf(a.S),
		inner: gatTargetOf(a.Inner, a.DO, a.D, a.LSE, a.G, rows),
		halo:  gatTargetOf(a.Halo, a.DOHalo, a.DHalo, a.LSEHalo, a.GHalo, rows), slope: a.Slope,
	}
	if g.dt.empty() {
		return
	}
	q.compute("GATBackwardSrc", gpu.PhaseAggregation, func() {
		gatBackwardSrc(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.inner.a.entries + g.halo.a.entries) * int64(cols)})
	})
}

// HeadMean: dst[i][c] = bias[c] + Σ_h src[i][hC+c] / heads.
func (q *Queue) HeadMean(dst, src gpu.Matrix, bias gpu.Vec) {
	q.check("HeadMean").HeadMean(dst, src, bias)
	if dst.Empty() {
		return
	}
	d, s, b, heads := denseOf(dst), denseOf(src), values(bias), src.Cols/dst.Cols
	q.compute("HeadMean", gpu.PhaseOther, func() {
		q.dev.pool.rows(d.rows, s.cols, func(_, lo, hi int) {
			gatMean(heads, d.rowRange(lo, hi), s.rowRange(lo, hi), b)
		})
	})
}

// HeadMeanBackward: dst[i][hC+c] = src[i][c] / heads.
func (q *Queue) HeadMeanBackward(dst, src gpu.Matrix) {
	q.check("HeadMeanBackward").HeadMeanBackward(dst, src)
	if dst.Empty() {
		return
	}
	d, s, heads := denseOf(dst), denseOf(src), dst.Cols/src.Cols
	q.compute("HeadMeanBackward", gpu.PhaseOther, func() {
		q.dev.pool.rows(d.rows, d.cols, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				out, in := d.row(i), s.row(i)
				axpby(out[:s.cols], 1/float32(heads), in, 0)
				for h := 1; h < heads; h++ {
					copy(out[h*s.cols:(h+1)*s.cols], out)
				}
			}
		})
	})
}
