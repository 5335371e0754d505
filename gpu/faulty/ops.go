package faulty

import "capgnn/gpu"

// row views a vector as a matrix.
func row(v gpu.Vec) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: v.Len, LD: v.Len}
}

// wide views float64s as a matrix of twice as many float32s.
func wide(v gpu.Array[float64]) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: 2 * v.Off, Rows: 1, Cols: 2 * v.Len, LD: 2 * v.Len}
}

// with returns m and what an epilogue behind it writes.
func with(then *gpu.Epilogue, m gpu.Matrix) []gpu.Matrix {
	if then == nil {
		return []gpu.Matrix{m}
	}
	return []gpu.Matrix{m, then.H, row(then.Rstd)}
}

// Fill implements gpu.Ops.
func (q *queue) Fill(m gpu.Matrix, v float32) { q.do("Fill", func() { q.inner.Fill(m, v) }, m) }

// Copy implements gpu.Ops.
func (q *queue) Copy(dst, src gpu.Matrix) { q.do("Copy", func() { q.inner.Copy(dst, src) }, dst) }

// Transpose implements gpu.Ops.
func (q *queue) Transpose(dst, src gpu.Matrix) {
	q.do("Transpose", func() { q.inner.Transpose(dst, src) }, dst)
}

// Axpby implements gpu.Ops.
func (q *queue) Axpby(dst gpu.Matrix, a float32, src gpu.Matrix, b float32) {
	q.do("Axpby", func() { q.inner.Axpby(dst, a, src, b) }, dst)
}

// ScaleRows implements gpu.Ops.
func (q *queue) ScaleRows(dst, src gpu.Matrix, scale gpu.Vec) {
	q.do("ScaleRows", func() { q.inner.ScaleRows(dst, src, scale) }, dst)
}

// AddScaled implements gpu.Ops.
func (q *queue) AddScaled(dst, src gpu.Matrix, s gpu.Vec) {
	q.do("AddScaled", func() { q.inner.AddScaled(dst, src, s) }, dst)
}

// Map implements gpu.Ops.
func (q *queue) Map(a gpu.MapArgs) { q.do("Map", func() { q.inner.Map(a) }, a.Dst) }

// Messages implements gpu.Ops.
func (q *queue) Messages(a gpu.MessageArgs) {
	q.do("Messages", func() { q.inner.Messages(a) }, a.Y)
}

// ColSum implements gpu.Ops.
func (q *queue) ColSum(dst gpu.Vec, m gpu.Matrix, b float32) {
	q.do("ColSum", func() { q.inner.ColSum(dst, m, b) }, row(dst))
}

// Dot implements gpu.Ops.
func (q *queue) Dot(dst gpu.Vec, x, y gpu.Matrix, b float32) {
	q.do("Dot", func() { q.inner.Dot(dst, x, y, b) }, row(dst))
}

// Gather implements gpu.Ops.
func (q *queue) Gather(dst, src gpu.Matrix, rows gpu.Ints) {
	q.do("Gather", func() { q.inner.Gather(dst, src, rows) }, dst)
}

// ScatterAdd implements gpu.Ops.
func (q *queue) ScatterAdd(dst, src gpu.Matrix, rows gpu.Ints) {
	q.do("ScatterAdd", func() { q.inner.ScatterAdd(dst, src, rows) }, dst)
}

// PackRows implements gpu.Ops. Poison makes NaN of the scales.
func (q *queue) PackRows(a gpu.PackArgs) { q.do("PackRows", func() { q.inner.PackRows(a) }, a.Dst) }

// UnpackRows implements gpu.Ops.
func (q *queue) UnpackRows(dst, packed gpu.Matrix, bits int) {
	q.do("UnpackRows", func() { q.inner.UnpackRows(dst, packed, bits) }, dst)
}

// Gemm implements gpu.Ops.
func (q *queue) Gemm(a gpu.GemmArgs) { q.do("Gemm", func() { q.inner.Gemm(a) }, a.C) }

// Linear implements gpu.Ops.
func (q *queue) Linear(a gpu.LinearArgs) {
	q.do("Linear", func() { q.inner.Linear(a) }, with(a.Then, a.Z)...)
}

// SpMM implements gpu.Ops.
func (q *queue) SpMM(y gpu.Matrix, a gpu.CSR, x gpu.Matrix, beta float32) {
	q.do("SpMM", func() { q.inner.SpMM(y, a, x, beta) }, y)
}

// Aggregate implements gpu.Ops.
func (q *queue) Aggregate(a gpu.AggregateArgs) {
	q.do("Aggregate", func() { q.inner.Aggregate(a) }, with(a.Then, a.Y)...)
}

// Epilogue implements gpu.Ops.
func (q *queue) Epilogue(e gpu.Epilogue) {
	q.do("Epilogue", func() { q.inner.Epilogue(e) }, with(&e, e.H)...)
}

// EpilogueBackward implements gpu.Ops.
func (q *queue) EpilogueBackward(e gpu.EpilogueGrad) {
	q.do("EpilogueBackward", func() { q.inner.EpilogueBackward(e) }, e.DZ, e.H, row(e.DGamma), row(e.DBeta), row(e.DBias))
}

// GATScores implements gpu.Ops.
func (q *queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	q.do("GATScores", func() { q.inner.GATScores(s, d, t, aSrc, aDst) }, s, d)
}

// GATAggregate implements gpu.Ops.
func (q *queue) GATAggregate(a gpu.GATArgs) {
	q.do("GATAggregate", func() { q.inner.GATAggregate(a) }, a.O.RowRange(a.Lo, a.Hi), a.LSE.RowRange(a.Lo, a.Hi))
}

// GATBackwardDst implements gpu.Ops.
func (q *queue) GATBackwardDst(a gpu.GATGradDst) {
	q.do("GATBackwardDst", func() { q.inner.GATBackwardDst(a) }, a.DD, a.G)
}

// GATBackwardSrc implements gpu.Ops.
func (q *queue) GATBackwardSrc(a gpu.GATGradSrc) {
	q.do("GATBackwardSrc", func() { q.inner.GATBackwardSrc(a) }, a.DT, a.DS)
}

// GATScoresBackward implements gpu.Ops.
func (q *queue) GATScoresBackward(a gpu.GATScoresGrad) {
	q.do("GATScoresBackward", func() { q.inner.GATScoresBackward(a) }, a.DT, row(a.DASrc), row(a.DADst))
}

// GATv2Aggregate implements gpu.Ops.
func (q *queue) GATv2Aggregate(a gpu.GATv2Args) {
	q.do("GATv2Aggregate", func() { q.inner.GATv2Aggregate(a) }, a.O.RowRange(a.Lo, a.Hi), a.LSE.RowRange(a.Lo, a.Hi))
}

// GATv2BackwardDst implements gpu.Ops.
func (q *queue) GATv2BackwardDst(a gpu.GATv2GradDst) {
	q.do("GATv2BackwardDst", func() { q.inner.GATv2BackwardDst(a) }, a.DR, a.DA, a.G)
}

// GATv2BackwardSrc implements gpu.Ops.
func (q *queue) GATv2BackwardSrc(a gpu.GATv2GradSrc) {
	q.do("GATv2BackwardSrc", func() { q.inner.GATv2BackwardSrc(a) }, a.DT)
}

// DotAggregate implements gpu.Ops.
func (q *queue) DotAggregate(a gpu.DotArgs) {
	q.do("DotAggregate", func() { q.inner.DotAggregate(a) }, a.O, a.LSE)
}

// DotBackwardDst implements gpu.Ops.
func (q *queue) DotBackwardDst(a gpu.DotGradDst) {
	q.do("DotBackwardDst", func() { q.inner.DotBackwardDst(a) }, a.DQ, a.G)
}

// DotBackwardSrc implements gpu.Ops.
func (q *queue) DotBackwardSrc(a gpu.DotGradSrc) {
	q.do("DotBackwardSrc", func() { q.inner.DotBackwardSrc(a) }, a.DK, a.DV)
}

// HeadMean implements gpu.Ops.
func (q *queue) HeadMean(dst, src gpu.Matrix, bias gpu.Vec) {
	q.do("HeadMean", func() { q.inner.HeadMean(dst, src, bias) }, dst)
}

// HeadMeanBackward implements gpu.Ops.
func (q *queue) HeadMeanBackward(dst, src gpu.Matrix) {
	q.do("HeadMeanBackward", func() { q.inner.HeadMeanBackward(dst, src) }, dst)
}

// SoftmaxLoss implements gpu.Ops.
func (q *queue) SoftmaxLoss(a gpu.LossArgs) {
	q.do("SoftmaxLoss", func() { q.inner.SoftmaxLoss(a) }, a.Grad, wide(a.Loss))
}

// BCELoss implements gpu.Ops.
func (q *queue) BCELoss(a gpu.LossArgs) {
	q.do("BCELoss", func() { q.inner.BCELoss(a) }, a.Grad, wide(a.Loss))
}

// Adam implements gpu.Ops.
func (q *queue) Adam(a gpu.AdamArgs) {
	q.do("Adam", func() { q.inner.Adam(a) }, row(a.Param), row(a.M), row(a.V), row(a.VMax))
}

// SGD implements gpu.Ops.
func (q *queue) SGD(param, grad gpu.Vec, lr, weightDecay float32) {
	q.do("SGD", func() { q.inner.SGD(param, grad, lr, weightDecay) }, row(param))
}
