package window

import (
	"slices"

	"capgnn/gpu"
)

func (q *queue) Fill(m gpu.Matrix, v float32) {
	q.op(func() { q.to.Fill(m, v) }, []any{&m}, over(&m))
}

func (q *queue) Copy(dst, src gpu.Matrix) {
	q.op(func() { q.to.Copy(dst, src) }, []any{&dst, &src}, over(&dst))
}

func (q *queue) Transpose(dst, src gpu.Matrix) {
	q.op(func() { q.to.Transpose(dst, src) }, []any{&dst, &src}, over(&dst))
}

func (q *queue) Axpby(dst gpu.Matrix, a float32, src gpu.Matrix, b float32) {
	q.op(func() { q.to.Axpby(dst, a, src, b) }, []any{&dst, &src}, added(b != 0, &dst))
}

func (q *queue) ScaleRows(dst, src gpu.Matrix, scale gpu.Vec) {
	q.op(func() { q.to.ScaleRows(dst, src, scale) }, []any{&dst, &src, &scale}, over(&dst))
}

func (q *queue) AddScaled(dst, src gpu.Matrix, s gpu.Vec) {
	q.op(func() { q.to.AddScaled(dst, src, s) }, []any{&dst, &src, &s}, added(true, &dst))
}

func (q *queue) Map(a gpu.MapArgs) {
	q.op(func() { q.to.Map(a) }, []any{&a}, added(a.Beta != 0, &a.Dst))
}

func (q *queue) ColSum(dst gpu.Vec, m gpu.Matrix, b float32) {
	q.op(func() { q.to.ColSum(dst, m, b) }, []any{&dst, &m}, added(b != 0, &dst))
}

func (q *queue) Dot(dst gpu.Vec, x, y gpu.Matrix, b float32) {
	q.op(func() { q.to.Dot(dst, x, y, b) }, []any{&dst, &x, &y}, []output{{arg: &dst, adds: true}})
}

func (q *queue) Gather(dst, src gpu.Matrix, rows gpu.Ints) {
	q.op(func() { q.to.Gather(dst, src, rows) }, []any{&dst, &src, &rows}, over(&dst))
}

func (q *queue) ScatterAdd(dst, src gpu.Matrix, rows gpu.Ints) {
	q.op(func() { q.to.ScatterAdd(dst, src, rows) }, []any{&dst, &src, &rows}, added(true, &dst))
}

func (q *queue) PackRows(a gpu.PackArgs) {
	q.op(func() { q.to.PackRows(a) }, []any{&a}, added(true, &a.Dst))
}

func (q *queue) UnpackRows(dst, packed gpu.Matrix, bits int) {
	q.op(func() { q.to.UnpackRows(dst, packed, bits) }, []any{&dst, &packed}, over(&dst))
}

func (q *queue) Gemm(a gpu.GemmArgs) {
	q.op(func() { q.to.Gemm(a) }, []any{&a}, added(a.Beta != 0, &a.C))
}

func (q *queue) Linear(a gpu.LinearArgs) {
	writes := added(a.Beta != 0, &a.Z)
	q.then(func() { q.to.Linear(a) }, &a, &a.Then, writes)
}

func (q *queue) SpMM(y gpu.Matrix, a gpu.CSR, x gpu.Matrix, beta float32) {
	q.op(func() { q.to.SpMM(y, a, x, beta) }, []any{&y, &a, &x}, added(beta != 0, &y))
}

func (q *queue) Aggregate(a gpu.AggregateArgs) {
	q.then(func() { q.to.Aggregate(a) }, &a, &a.Then, added(a.Accumulate, &a.Y))
}

// then is op of an operation with an epilogue, whose Z is ignored.
func (q *queue) then(run func(), a any, then **gpu.Epilogue, writes []output) {
	if *then == nil {
		q.op(run, []any{a}, writes)
		return
	}
	e := **then
	*then = &e
	q.op(run, []any{a}, append(writes, over(&e.H, &e.Rstd)...), &e.Z)
}

func (q *queue) Epilogue(e gpu.Epilogue) {
	writes := over(&e.H, &e.Rstd)
	if e.Norm {
		writes = append(writes, added(true, &e.Z)...)
	}
	q.op(func() { q.to.Epilogue(e) }, []any{&e}, writes)
}

func (q *queue) EpilogueBackward(e gpu.EpilogueGrad) {
	writes := slices.Concat(over(&e.DZ, &e.H), added(true, &e.DGamma, &e.DBeta, &e.DBias))
	q.op(func() { q.to.EpilogueBackward(e) }, []any{&e}, writes)
}

func (q *queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	q.op(func() { q.to.GATScores(s, d, t, aSrc, aDst) }, []any{&s, &d, &t, &aSrc, &aDst}, over(&s, &d))
}

func (q *queue) GATAggregate(a gpu.GATArgs) {
	q.op(func() { q.to.GATAggregate(a) }, []any{&a}, rowsOf(a.Lo, a.Hi, &a.O, &a.LSE))
}

func (q *queue) GATBackwardDst(a gpu.GATGradDst) {
	q.op(func() { q.to.GATBackwardDst(a) }, []any{&a}, over(&a.DD, &a.G))
}

func (q *queue) GATBackwardSrc(a gpu.GATGradSrc) {
	q.op(func() { q.to.GATBackwardSrc(a) }, []any{&a}, over(&a.DT, &a.DS))
}

func (q *queue) Messages(a gpu.MessageArgs) {
	q.op(func() { q.to.Messages(a) }, []any{&a}, added(a.Accumulate, &a.Y))
}

func (q *queue) GATScoresBackward(a gpu.GATScoresGrad) {
	q.op(func() { q.to.GATScoresBackward(a) }, []any{&a}, added(true, &a.DT, &a.DASrc, &a.DADst))
}

func (q *queue) GATv2Aggregate(a gpu.GATv2Args) {
	q.op(func() { q.to.GATv2Aggregate(a) }, []any{&a}, rowsOf(a.Lo, a.Hi, &a.O, &a.LSE))
}

func (q *queue) GATv2BackwardDst(a gpu.GATv2GradDst) {
	q.op(func() { q.to.GATv2BackwardDst(a) }, []any{&a}, over(&a.DR, &a.DA, &a.G))
}

func (q *queue) GATv2BackwardSrc(a gpu.GATv2GradSrc) {
	q.op(func() { q.to.GATv2BackwardSrc(a) }, []any{&a}, over(&a.DT))
}

func (q *queue) DotAggregate(a gpu.DotArgs) {
	q.op(func() { q.to.DotAggregate(a) }, []any{&a}, over(&a.O, &a.LSE))
}

func (q *queue) DotBackwardDst(a gpu.DotGradDst) {
	q.op(func() { q.to.DotBackwardDst(a) }, []any{&a}, over(&a.DQ, &a.G))
}

func (q *queue) DotBackwardSrc(a gpu.DotGradSrc) {
	q.op(func() { q.to.DotBackwardSrc(a) }, []any{&a}, over(&a.DK, &a.DV))
}

func (q *queue) HeadMean(dst, src gpu.Matrix, bias gpu.Vec) {
	q.op(func() { q.to.HeadMean(dst, src, bias) }, []any{&dst, &src, &bias}, over(&dst))
}

func (q *queue) HeadMeanBackward(dst, src gpu.Matrix) {
	q.op(func() { q.to.HeadMeanBackward(dst, src) }, []any{&dst, &src}, over(&dst))
}

func (q *queue) SoftmaxLoss(a gpu.LossArgs) {
	q.op(func() { q.to.SoftmaxLoss(a) }, []any{&a}, over(&a.Grad, &a.Loss))
}

func (q *queue) BCELoss(a gpu.LossArgs) {
	q.op(func() { q.to.BCELoss(a) }, []any{&a}, over(&a.Grad, &a.Loss))
}

func (q *queue) Adam(a gpu.AdamArgs) {
	q.op(func() { q.to.Adam(a) }, []any{&a}, added(true, &a.Param, &a.M, &a.V, &a.VMax))
}

func (q *queue) SGD(param, grad gpu.Vec, lr, weightDecay float32) {
	q.op(func() { q.to.SGD(param, grad, lr, weightDecay) }, []any{&param, &grad}, added(true, &param))
}
