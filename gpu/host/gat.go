package host

import (
	"capgnn/gpu"
	"capgnn/gpu/check"
	"capgnn/gpu/host/kernel"
)

// GATScores: s[i][h] = Σ_c aSrc[hC+c]·T[i][hC+c], d likewise with aDst.
func (q *Queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	q.check("GATScores").GATScores(s, d, t, aSrc, aDst)
	feat, src, w := denseOf(t), denseOf(s), values(aSrc)
	var dst kernel.Dense
	var wd []float32
	if !d.Empty() {
		dst, wd = denseOf(d), values(aDst)
	}
	if src.Empty() {
		return
	}
	n := t.Cols / s.Cols
	q.compute("GATScores", gpu.PhaseOther, func() {
		q.dev.pool.Rows(feat.Rows, feat.Cols, func(_, lo, hi int) {
			rows := feat.RowRange(lo, hi)
			kernel.GATDots(n, rows, kernel.Dense{V: w, Rows: hi - lo, Cols: feat.Cols}, nil, nil, src.RowRange(lo, hi))
			if wd != nil {
				kernel.GATDots(n, rows, kernel.Dense{V: wd, Rows: hi - lo, Cols: feat.Cols}, nil, nil, dst.RowRange(lo, hi))
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
	g := &kernel.GATScoresGrad{
		T: denseOf(a.T), DT: denseOf(a.DT), DS: denseOf(a.DS), Src: values(a.ASrc), DSrc: values(a.DASrc),
		Heads: heads, Channels: cols / heads, Cols: cols,
	}
	if !a.DD.Empty() {
		g.DD, g.Dst, g.DDst = denseOf(a.DD), values(a.ADst), values(a.DADst)
	}
	q.compute("GATScoresBackward", gpu.PhaseOther, func() {
		kernel.GATScoresBackward(q.dev.pool, &q.dev.scratch, g)
	})
}

// edgeDropOf resolves which weights of attention are dropped; rows of entries are their targets, or sources.
func edgeDropOf(d gpu.EdgeDropout, bySource bool) kernel.EdgeDrop {
	if d.P == 0 {
		return kernel.EdgeDrop{}
	}
	return kernel.EdgeDrop{On: true, Key: gpu.SeedKey(d.Seed), Layer: d.Layer, Epoch: d.Epoch, BySource: bySource, Rows: values(d.Rows),
		Threshold: gpu.DropoutThreshold(d.P), Scale: float32(1 / (1 - d.P))}
}

// gatSourceOf resolves the source rows that the columns of a index.
func gatSourceOf(a gpu.CSR, t, s gpu.Matrix, rows int, ids gpu.Ints) kernel.GATSource {
	if !check.Given(a) {
		return kernel.GATSource{A: kernel.Sparse{List: []int32{}, Rows: rows}}
	}
	g := kernel.GATSource{A: sparseOf(a)}
	if a.Entries > 0 {
		g.T, g.S, g.IDs = denseOf(t), denseOf(s), values(ids)
	}
	return g
}

// GATAggregate: attention-weighted sum over in-edges.
func (q *Queue) GATAggregate(a gpu.GATArgs) {
	q.check("GATAggregate").GATAggregate(a)
	rows, cols := a.O.Rows, a.O.Cols
	g := &kernel.GATForward{
		O: denseOf(a.O), LSE: denseOf(a.LSE), D: denseOf(a.D),
		Inner: gatSourceOf(a.Inner, a.T, a.S, rows, a.Drop.Inner), Halo: gatSourceOf(a.Halo, a.THalo, a.SHalo, rows, a.Drop.Halo),
		Bias: values(a.Bias), Slope: a.Slope, Drop: edgeDropOf(a.Drop, false), Lo: a.Lo, Hi: a.Hi,
	}
	if a.Lo == a.Hi || cols == 0 {
		return
	}
	q.compute("GATAggregate", gpu.PhaseAggregation, func() {
		kernel.GATAggregate(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.Inner.A.Between(g.Lo, g.Hi) + g.Halo.A.Between(g.Lo, g.Hi)) * int64(cols)})
	})
}

// GATBackwardDst: gradient of the destination scores.
func (q *Queue) GATBackwardDst(a gpu.GATGradDst) {
	q.check("GATBackwardDst").GATBackwardDst(a)
	rows, cols := a.DO.Rows, a.DO.Cols
	g := &kernel.GATGradDst{
		DD: denseOf(a.DD), G: denseOf(a.G), DO: denseOf(a.DO), O: denseOf(a.O), LSE: denseOf(a.LSE), D: denseOf(a.D),
		Inner: gatSourceOf(a.Inner, a.T, a.S, rows, a.Drop.Inner), Halo: gatSourceOf(a.Halo, a.THalo, a.SHalo, rows, a.Drop.Halo),
		Bias: values(a.Bias), Slope: a.Slope, Drop: edgeDropOf(a.Drop, false),
	}
	if g.DO.Empty() {
		return
	}
	q.compute("GATBackwardDst", gpu.PhaseAggregation, func() {
		kernel.GATBackwardDst(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.Inner.A.Entries + g.Halo.A.Entries) * int64(cols)})
	})
}

// gatTargetOf resolves the destination rows that the columns of a index.
func gatTargetOf(a gpu.CSR, do, d, lse, g gpu.Matrix, rows int, ids gpu.Ints) kernel.GATTarget {
	if !check.Given(a) {
		return kernel.GATTarget{A: kernel.Sparse{List: []int32{}, Rows: rows}}
	}
	t := kernel.GATTarget{A: sparseOf(a)}
	if a.Entries > 0 {
		t.DO, t.D, t.LSE, t.G, t.IDs = denseOf(do), denseOf(d), denseOf(lse), denseOf(g), values(ids)
	}
	return t
}

// GATBackwardSrc: gradient of the source rows and scores.
func (q *Queue) GATBackwardSrc(a gpu.GATGradSrc) {
	q.check("GATBackwardSrc").GATBackwardSrc(a)
	rows, cols := a.DT.Rows, a.DT.Cols
	g := &kernel.GATGradSrc{
		DT: denseOf(a.DT), DS: denseOf(a.DS), T: denseOf(a.T), S: denseOf(a.S),
		Inner: gatTargetOf(a.Inner, a.DO, a.D, a.LSE, a.G, rows, a.Drop.Inner),
		Halo:  gatTargetOf(a.Halo, a.DOHalo, a.DHalo, a.LSEHalo, a.GHalo, rows, a.Drop.Halo), Slope: a.Slope,
		Drop: edgeDropOf(a.Drop, true),
	}
	if g.DT.Empty() {
		return
	}
	q.compute("GATBackwardSrc", gpu.PhaseAggregation, func() {
		kernel.GATBackwardSrc(q.dev.pool, &q.dev.scratch, g)
		q.count(gpu.Usage{SpMM: (g.Inner.A.Entries + g.Halo.A.Entries) * int64(cols)})
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
		q.dev.pool.Rows(d.Rows, s.Cols, func(_, lo, hi int) {
			kernel.GATMean(heads, d.RowRange(lo, hi), s.RowRange(lo, hi), b)
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
		q.dev.pool.Rows(d.Rows, d.Cols, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				out, in := d.Row(i), s.Row(i)
				kernel.Axpby(out[:s.Cols], 1/float32(heads), in, 0)
				for h := 1; h < heads; h++ {
					copy(out[h*s.Cols:(h+1)*s.Cols], out)
				}
			}
		})
	})
}
