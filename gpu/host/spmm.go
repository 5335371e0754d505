package host

import "capgnn/gpu"

// aggregate is a resolved gpu.AggregateArgs.
type aggregate struct {
	y                        dense
	a                        sparse
	x                        either
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
	if r.y.empty() {
		return
	}
	q.compute("Aggregate", gpu.PhaseAggregation, func() {
		after := q.dev.finish(r.bias, r.then).rows(r.y)
		spmm(q.dev.pool, &q.dev.scratch, r.y, r.a, r.x.d32, r.x.d16, r.rowScale, r.colScale, r.accumulate, after)
		q.count(gpu.Usage{SpMM: r.a.entries * int64(r.y.cols)})
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
		if d.half {
			spmm16(q.dev.pool, &q.dev.scratch, d, s, v)
			return
		}
		if beta != 0 {
			scale(q.dev.pool, d.d32, beta)
		}
		spmm(q.dev.pool, &q.dev.scratch, d.d32, s, v.d32, v.d16, nil, nil, beta != 0, nil)
	})
}
