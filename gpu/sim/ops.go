package sim

import "capgnn/gpu"

func row(v gpu.Vec) gpu.Matrix { return gpu.Matrix{Rows: 1, Cols: v.Len} }

// Fill implements gpu.Ops.
func (q *Queue) Fill(m gpu.Matrix, v float32) {
	q.compute("Fill", gpu.PhaseOther, passes(fills, m), func() { q.inner.Fill(m, v) })
}

// Copy implements gpu.Ops.
func (q *Queue) Copy(dst, src gpu.Matrix) {
	q.compute("Copy", gpu.PhaseOther, streams(dst, src), func() { q.inner.Copy(dst, src) })
}

// Transpose implements gpu.Ops.
func (q *Queue) Transpose(dst, src gpu.Matrix) {
	q.compute("Transpose", gpu.PhaseOther, streams(dst, src), func() { q.inner.Transpose(dst, src) })
}

// Axpby implements gpu.Ops.
func (q *Queue) Axpby(dst gpu.Matrix, a float32, src gpu.Matrix, b float32) {
	work := streams(dst, src)
	if b != 0 {
		work = passes(axpby, dst, dst, src)
	}
	q.compute("Axpby", gpu.PhaseReduce, work, func() { q.inner.Axpby(dst, a, src, b) })
}

// ScaleRows implements gpu.Ops.
func (q *Queue) ScaleRows(dst, src gpu.Matrix, scale gpu.Vec) {
	q.compute("ScaleRows", gpu.PhaseOther, streams(dst, src), func() { q.inner.ScaleRows(dst, src, scale) })
}

// AddScaled implements gpu.Ops.
func (q *Queue) AddScaled(dst, src gpu.Matrix, s gpu.Vec) {
	q.compute("AddScaled", gpu.PhaseOther, streams(dst, dst, src), func() { q.inner.AddScaled(dst, src, s) })
}

// Map implements gpu.Ops. A function but the plainest takes as long as an epilogue of as many elements.
func (q *Queue) Map(a gpu.MapArgs) {
	k := epilogue
	if a.F <= gpu.MapLeaky || a.F >= gpu.MapClamp || a.F == gpu.MapSquare {
		k = stream
	}
	m := []gpu.Matrix{a.Dst, a.Src, a.By}
	if a.Beta != 0 {
		m = append(m, a.Dst)
	}
	q.compute("Map", gpu.PhaseOther, passes(k, m...), func() { q.inner.Map(a) })
}

// ColSum implements gpu.Ops.
func (q *Queue) ColSum(dst gpu.Vec, m gpu.Matrix, b float32) {
	q.compute("ColSum", gpu.PhaseOther, passes(colSum, m), func() { q.inner.ColSum(dst, m, b) })
}

// Dot implements gpu.Ops.
func (q *Queue) Dot(dst gpu.Vec, x, y gpu.Matrix, b float32) {
	q.compute("Dot", gpu.PhaseOther, streams(x, y), func() { q.inner.Dot(dst, x, y, b) })
}

// Gather implements gpu.Ops.
func (q *Queue) Gather(dst, src gpu.Matrix, rows gpu.Ints) {
	read := src
	read.Rows = dst.Rows
	work := passes(gatherRows, dst, read)
	work[0].spread = 2 * size(src) // as in a calibration, which takes as many rows as there are
	if q.dev.host != nil {
		work[0].spread = anywhere // rows are picked for others, who had them in their caches since
	}
	q.compute("Gather", gpu.PhasePick, work, func() { q.inner.Gather(dst, src, rows) })
}

// ScatterAdd implements gpu.Ops.
func (q *Queue) ScatterAdd(dst, src gpu.Matrix, rows gpu.Ints) {
	q.compute("ScatterAdd", gpu.PhaseOther, streams(src, src, src), func() { q.inner.ScatterAdd(dst, src, rows) })
}

// PackRows implements gpu.Ops. Drawing takes most of it, as in an epilogue with dropout: it counts as one of as many elements.
func (q *Queue) PackRows(a gpu.PackArgs) {
	z := gpu.Matrix{Rows: a.Dst.Rows, Cols: a.Src.Cols}
	q.compute("PackRows", gpu.PhasePick, passes(epilogue, z, z, z), func() { q.inner.PackRows(a) })
}

// UnpackRows implements gpu.Ops.
func (q *Queue) UnpackRows(dst, packed gpu.Matrix, bits int) {
	work := streams(dst, packed)
	if q.dev.host != nil {
		work[0].spread = anywhere // as of what has been copied
	}
	q.compute("UnpackRows", gpu.PhasePick, work, func() { q.inner.UnpackRows(dst, packed, bits) })
}

// Gemm implements gpu.Ops.
func (q *Queue) Gemm(a gpu.GemmArgs) {
	c := size(a.C)
	if a.Beta != 0 {
		c *= 2
	}
	var p part
	switch {
	case a.TransA:
		p = part{kernel: gemmTN, rows: a.A.Rows, in: a.A.Cols, out: a.B.Cols, bytes: size(a.A, a.B)}
	case a.TransB:
		p = product(gemmNT, a.A, a.C.Cols, c)
	default:
		p = product(gemmNN, a.A, a.C.Cols, c)
	}
	q.compute("Gemm", gpu.PhaseMM, []part{p}, func() { q.inner.Gemm(a) })
}

// Linear implements gpu.Ops.
func (q *Queue) Linear(a gpu.LinearArgs) {
	z := size(a.Z)
	if a.Beta != 0 {
		z *= 2
	}
	work := []part{product(gemmNT, a.X, a.Z.Cols, z)}
	if !a.X2.Empty() {
		work = append(work, product(gemmNT, a.X2, a.Z.Cols, 0)) // its sums are in the cache
	}
	work = append(work, follows(a.Then, a.Z)...)
	q.compute("Linear", gpu.PhaseMM, work, func() { q.inner.Linear(a) })
}

// SpMM implements gpu.Ops.
func (q *Queue) SpMM(y gpu.Matrix, a gpu.CSR, x gpu.Matrix, beta float32) {
	q.compute("SpMM", gpu.PhaseMM, []part{gathers(gather, a, x, y, beta != 0)}, func() { q.inner.SpMM(y, a, x, beta) })
}

// Aggregate implements gpu.Ops.
func (q *Queue) Aggregate(a gpu.AggregateArgs) {
	work := []part{gathers(gather, a.A, a.X, a.Y, a.Accumulate)}
	work[0].scaled = work[0].scaled || !a.ColScale.Empty()
	work = append(work, follows(a.Then, a.Y)...)
	q.aggregate("Aggregate", work, a.A.Entries*int64(a.Y.Cols), func() { q.inner.Aggregate(a) })
}

// Messages implements gpu.Ops. A function but the plainest takes as long as elements of an epilogue.
func (q *Queue) Messages(a gpu.MessageArgs) {
	entries := a.Inner.Entries + a.Halo.Entries
	work := []part{gathers(gather, a.Inner, a.C, a.Y, a.Accumulate), gathers(gather, a.Halo, a.CHalo, a.Y, true)}
	if !a.X.Empty() || !a.XHalo.Empty() {
		work = append(work, gathers(gather, a.Inner, a.X, a.Y, true), gathers(gather, a.Halo, a.XHalo, a.Y, true))
	}
	if a.F > gpu.MapLeaky && a.F < gpu.MapClamp && a.F != gpu.MapSquare {
		work = append(work, part{kernel: epilogue, bytes: 4 * gpu.Bytes(entries) * gpu.Bytes(a.Y.Cols)})
	}
	q.aggregate("Messages", work, entries*int64(a.Y.Cols), func() { q.inner.Messages(a) })
}

// Epilogue implements gpu.Ops.
func (q *Queue) Epilogue(e gpu.Epilogue) {
	q.compute("Epilogue", gpu.PhaseOther, epilogueOf(e), func() { q.inner.Epilogue(e) })
}

// EpilogueBackward implements gpu.Ops.
func (q *Queue) EpilogueBackward(e gpu.EpilogueGrad) {
	work := passes(epilogueBackward, e.DH, e.X, e.DZ, e.H)
	q.compute("EpilogueBackward", gpu.PhaseOther, work, func() { q.inner.EpilogueBackward(e) })
}

// GATScores implements gpu.Ops.
func (q *Queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	q.compute("GATScores", gpu.PhaseOther, streams(s, d, t), func() { q.inner.GATScores(s, d, t, aSrc, aDst) })
}

// draws is the work of dropout of attention: a number for every head of every entry, which takes as long as an element
// of an epilogue.
func draws(d gpu.EdgeDropout, entries int64, heads int) []part {
	if d.P == 0 {
		return nil
	}
	return []part{{kernel: epilogue, bytes: 4 * gpu.Bytes(entries) * gpu.Bytes(heads)}}
}

// attends is the work of attention over the in-edges of so many rows of o, and its share of the entries.
func attends(k kernel, inner, halo gpu.CSR, t, tHalo, o gpu.Matrix, rows int) (work []part, share int64) {
	work = []part{gathers(k, inner, t, o.RowRange(0, rows), false)}
	if !halo.Empty() {
		work = append(work, gathers(k, halo, tHalo, o, true))
	}
	share = inner.Entries + halo.Entries
	if inner.Rows > 0 { // entries of the rows in between are not known here: as many as rows
		f := float64(rows) / float64(inner.Rows)
		for i := range work {
			work[i].entries = int64(f * float64(work[i].entries))
		}
		share = int64(f * float64(share))
	}
	return work, share
}

// GATAggregate implements gpu.Ops.
func (q *Queue) GATAggregate(a gpu.GATArgs) {
	work, share := attends(gatForward, a.Inner, a.Halo, a.T, a.THalo, a.O, a.Hi-a.Lo)
	work = append(work, draws(a.Drop, share, a.LSE.Cols)...)
	q.aggregate("GATAggregate", work, share*int64(a.O.Cols), func() { q.inner.GATAggregate(a) })
}

// GATBackwardDst implements gpu.Ops.
func (q *Queue) GATBackwardDst(a gpu.GATGradDst) {
	work := []part{gathers(gatByDst, a.Inner, a.T, a.DO, true)}
	if !a.Halo.Empty() {
		work = append(work, gathers(gatByDst, a.Halo, a.THalo, a.DO, true))
	}
	work = append(work, draws(a.Drop, a.Inner.Entries+a.Halo.Entries, a.LSE.Cols)...)
	q.aggregate("GATBackwardDst", work, (a.Inner.Entries+a.Halo.Entries)*int64(a.DO.Cols), func() { q.inner.GATBackwardDst(a) })
}

// GATBackwardSrc implements gpu.Ops.
func (q *Queue) GATBackwardSrc(a gpu.GATGradSrc) {
	work := []part{gathers(gatBySrc, a.Inner, a.DO, a.DT, false)}
	if !a.Halo.Empty() {
		work = append(work, gathers(gatBySrc, a.Halo, a.DOHalo, a.DT, true))
	}
	work = append(work, draws(a.Drop, a.Inner.Entries+a.Halo.Entries, a.DS.Cols)...)
	q.aggregate("GATBackwardSrc", work, (a.Inner.Entries+a.Halo.Entries)*int64(a.DT.Cols), func() { q.inner.GATBackwardSrc(a) })
}

// GATScoresBackward implements gpu.Ops.
func (q *Queue) GATScoresBackward(a gpu.GATScoresGrad) {
	q.compute("GATScoresBackward", gpu.PhaseOther, streams(a.T, a.DT, a.DT, a.DS, a.DD), func() { q.inner.GATScoresBackward(a) })
}

// GATv2Aggregate implements gpu.Ops.
func (q *Queue) GATv2Aggregate(a gpu.GATv2Args) {
	work, share := attends(gatv2Forward, a.Inner, a.Halo, a.T, a.THalo, a.O, a.Hi-a.Lo)
	work = append(work, draws(a.Drop, share, a.LSE.Cols)...)
	q.aggregate("GATv2Aggregate", work, share*int64(a.O.Cols), func() { q.inner.GATv2Aggregate(a) })
}

// GATv2BackwardDst implements gpu.Ops.
func (q *Queue) GATv2BackwardDst(a gpu.GATv2GradDst) {
	work := []part{gathers(gatv2ByDst, a.Inner, a.T, a.DO, true)}
	if !a.Halo.Empty() {
		work = append(work, gathers(gatv2ByDst, a.Halo, a.THalo, a.DO, true))
	}
	work = append(work, draws(a.Drop, a.Inner.Entries+a.Halo.Entries, a.LSE.Cols)...)
	q.aggregate("GATv2BackwardDst", work, (a.Inner.Entries+a.Halo.Entries)*int64(a.DO.Cols), func() { q.inner.GATv2BackwardDst(a) })
}

// GATv2BackwardSrc implements gpu.Ops.
func (q *Queue) GATv2BackwardSrc(a gpu.GATv2GradSrc) {
	work := append([]part{gathers(gatv2BySrc, a.A, a.DO, a.DT, false)}, draws(a.Drop, a.A.Entries, a.LSE.Cols)...)
	q.aggregate("GATv2BackwardSrc", work, a.A.Entries*int64(a.DT.Cols),
		func() { q.inner.GATv2BackwardSrc(a) })
}

// DotAggregate implements gpu.Ops. Scores are those of GATv2, which reads one matrix of sources; values are gathered beside.
func (q *Queue) DotAggregate(a gpu.DotArgs) {
	work, share := attends(gatv2Forward, a.Inner, a.Halo, a.K, a.KHalo, a.O, a.O.Rows)
	work = append(work, gathers(gather, a.Inner, a.V, a.O, true), gathers(gather, a.Halo, a.VHalo, a.O, true))
	work = append(work, draws(a.Drop, share, a.LSE.Cols)...)
	q.aggregate("DotAggregate", work, share*int64(a.O.Cols), func() { q.inner.DotAggregate(a) })
}

// DotBackwardDst implements gpu.Ops.
func (q *Queue) DotBackwardDst(a gpu.DotGradDst) {
	entries := a.Inner.Entries + a.Halo.Entries
	work := []part{gathers(gatv2ByDst, a.Inner, a.K, a.DQ, true), gathers(gatv2ByDst, a.Halo, a.KHalo, a.DQ, true),
		gathers(gather, a.Inner, a.V, a.DQ, true), gathers(gather, a.Halo, a.VHalo, a.DQ, true)}
	work = append(work, draws(a.Drop, entries, a.LSE.Cols)...)
	q.aggregate("DotBackwardDst", work, entries*int64(a.DQ.Cols), func() { q.inner.DotBackwardDst(a) })
}

// DotBackwardSrc implements gpu.Ops.
func (q *Queue) DotBackwardSrc(a gpu.DotGradSrc) {
	entries := a.Inner.Entries + a.Halo.Entries
	work := []part{gathers(gatv2BySrc, a.Inner, a.DO, a.DV, false), gathers(gatv2BySrc, a.Halo, a.DOHalo, a.DV, true),
		gathers(gather, a.Inner, a.Q, a.DK, true), gathers(gather, a.Halo, a.QHalo, a.DK, true)}
	work = append(work, draws(a.Drop, entries, a.Heads)...)
	q.aggregate("DotBackwardSrc", work, entries*int64(a.DK.Cols), func() { q.inner.DotBackwardSrc(a) })
}

// HeadMean implements gpu.Ops.
func (q *Queue) HeadMean(dst, src gpu.Matrix, bias gpu.Vec) {
	q.compute("HeadMean", gpu.PhaseOther, streams(dst, src), func() { q.inner.HeadMean(dst, src, bias) })
}

// HeadMeanBackward implements gpu.Ops.
func (q *Queue) HeadMeanBackward(dst, src gpu.Matrix) {
	q.compute("HeadMeanBackward", gpu.PhaseOther, streams(dst, src), func() { q.inner.HeadMeanBackward(dst, src) })
}

// SoftmaxLoss implements gpu.Ops.
func (q *Queue) SoftmaxLoss(a gpu.LossArgs) {
	q.compute("SoftmaxLoss", gpu.PhaseOther, passes(softmax, a.Logits, a.Grad), func() { q.inner.SoftmaxLoss(a) })
}

// BCELoss implements gpu.Ops.
func (q *Queue) BCELoss(a gpu.LossArgs) {
	q.compute("BCELoss", gpu.PhaseOther, passes(bce, a.Logits, a.Grad), func() { q.inner.BCELoss(a) })
}

// Adam implements gpu.Ops.
func (q *Queue) Adam(a gpu.AdamArgs) {
	p := row(a.Param)
	bytes := size(p, p, row(a.Grad), p, p, p, p) // parameters and two moments are read and written
	if !a.VMax.Empty() {
		bytes += 2 * size(p)
	}
	q.compute("Adam", gpu.PhaseReduce, []part{{kernel: adam, bytes: bytes}}, func() { q.inner.Adam(a) })
}

// SGD implements gpu.Ops.
func (q *Queue) SGD(param, grad gpu.Vec, lr, weightDecay float32) {
	p := row(param)
	q.compute("SGD", gpu.PhaseReduce, streams(p, p, p), func() { q.inner.SGD(param, grad, lr, weightDecay) })
}
