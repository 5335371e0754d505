package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// aggregate is a resolved gpu.AggregateArgs.
type aggregate struct {
	y                        kernel.Dense
	a                        kernel.Sparse
	x                        kernel.Either
	rowScale, colScale, bias []float32
	accumulate               bool
	then                     *epilogue
}

// Aggregate: sums over graph neighbours.
func (q *Queue) Aggregate(a gpu.AggregateArgs) {
	q.check("Aggregate").Aggregate(a)
	r := aggregate{
		y: denseOf(a.Y), a: sparseOf(a.A), x: eitherOf(a.X), rowScale: values(a.RowScale), colScale: values(a.ColScale),
		bias: values(a.Bias), accumulate: a.Accumulate, then: epilogueOf(a.Then, a.Y),
	}
	if r.y.Empty() {
		return
	}
	q.compute("Aggregate", gpu.PhaseAggregation, func() {
		after := q.dev.finish(r.bias, r.then).rows(r.y)
		kernel.SpMM(q.dev.pool, &q.dev.scratch, r.y, r.a, r.x.D32, r.x.D16, r.rowScale, r.colScale, r.accumulate, after)
		q.count(gpu.Usage{SpMM: r.a.Entries * int64(r.y.Cols)})
	})
}

// SpMM: Y = A·X + beta·Y.
func (q *Queue) SpMM(y gpu.Matrix, a gpu.CSR, x gpu.Matrix, beta float32) {
	q.check("SpMM").SpMM(y, a, x, beta)
	d, s, v := eitherOf(y), sparseOf(a), eitherOf(x)
	if y.Empty() {
		return
	}
	q.compute("SpMM", gpu.PhaseMM, func() {
		if d.Half {
			kernel.SpMM16(q.dev.pool, &q.dev.scratch, d, s, v)
			return
		}
		if beta != 0 {
			kernel.Scale(q.dev.pool, d.D32, beta)
		}
		kernel.SpMM(q.dev.pool, &q.dev.scratch, d.D32, s, v.D32, v.D16, nil, nil, beta != 0, nil)
	})
}
