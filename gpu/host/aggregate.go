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
	c := q.check("Aggregate")
	r := aggregate{
		y: c.shaped("Y", a.Y, a.A.Rows, a.X.Cols), a: c.csr("A", a.A), x: c.any(&q.dev.memory, "X", a.X),
		rowScale: c.atLeast("RowScale", a.RowScale, a.A.Rows), colScale: c.atLeast("ColScale", a.ColScale, a.A.Cols),
		bias: c.optional("Bias", a.Bias, a.Y.Cols), accumulate: a.Accumulate, then: c.then(a.Then, a.Y),
	}
	if a.X.Rows < a.A.Cols {
		c.fail("X has %d rows, A %d columns", a.X.Rows, a.A.Cols)
	}
	if r.y.empty() {
		return
	}
	q.compute("Aggregate", gpu.PhaseAggregation, func() {
		q.dev.spmm(r.y, r.a, r.x, r.rowScale, r.colScale, r.accumulate)
		q.dev.finish(r.y, nil, r.bias, r.then)
		q.count(gpu.Usage{SpMM: r.a.entries * int64(r.y.cols)})
	})
}

// SpMM: Y = A·X + beta·Y.
func (q *Queue) SpMM(y gpu.Matrix, a gpu.CSR, x gpu.Matrix, beta float32) {
	c := q.check("SpMM")
	d, s, v := c.shaped("y", y, a.Rows, x.Cols), c.csr("a", a), c.mat("x", x)
	if x.Rows < a.Cols {
		c.fail("x has %d rows, a %d columns", x.Rows, a.Cols)
	}
	if d.empty() {
		return
	}
	q.compute("SpMM", gpu.PhaseMM, func() {
		if beta != 0 {
			q.dev.scale(d, beta)
		}
		q.dev.spmm(d, s, either{d32: v}, nil, nil, beta != 0)
	})
}

// spmm is the kernel, or the empty sum where no row is stored.
func (d *Device) spmm(y dense, a sparse, x either, rowScale, colScale []float32, accumulate bool) {
	if len(a.begin) == 0 || a.entries == 0 {
		if !accumulate {
			d.scale(y, 0)
		}
		return
	}
	spmm(d.pool, y, a, x.d32, x.d16, rowScale, colScale, accumulate)
}
