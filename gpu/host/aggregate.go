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
		spmm(q.dev.pool, r.y, r.a, r.x.d32, r.x.d16, r.rowScale, r.colScale, r.accumulate, after)
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
			q.dev.spmm16(d, s, v)
			return
		}
		if beta != 0 {
			q.dev.scale(d.d32, beta)
		}
		spmm(q.dev.pool, d.d32, s, v.d32, v.d16, nil, nil, beta != 0, nil)
	})
}

// scale: m = beta·m; with beta = 0, m is not read.
func (d *Device) scale(m dense, beta float32) {
	if beta == 1 {
		return
	}
	d.rows(m.rows, m.cols, func(_, lo, hi int) { scaleRows(m.rowRange(lo, hi), beta) })
}

// spmm16: Y = A·X, Y in bf16: blocks of rows are made in float32 and then rounded.
func (d *Device) spmm16(y either, a sparse, x either) {
	rows, cols := y.size()
	whole := spmmArgs{y: dense{nil, rows, cols, cols}, a: a, x: x.d32, x16: x.d16}
	nothing := len(a.begin) == 0 || len(a.idx) == 0 || x.d32.v == nil && x.d16.v == nil
	if !nothing {
		whole.check()
	}
	step := max(1, grain/cols)
	room, lists := d.own(&d.work.blocks, step*cols), grown(&d.work.list, d.pool.threads*step)
	d.rows(rows, cols, func(worker, lo, hi int) {
		part := whole
		part.y = y.draft(lo, hi, room.of(worker))
		part.a = a.rowRange(lo, hi, lists[worker*step:(worker+1)*step])
		if nothing || len(part.a.begin) == 0 {
			zeroRows(part.y, 0, part.y.rows)
		} else {
			part.stored(0, len(part.a.begin))
		}
		y.store(lo, part.y)
	})
}

// rowRange returns matrix rows lo to hi of a, numbered from 0. list holds their numbers if a lists its rows.
func (a sparse) rowRange(lo, hi int, list []int32) sparse {
	k0, k1 := a.find(lo), a.find(hi)
	part := sparse{begin: a.begin[k0:k1], end: a.end[k0:k1], idx: a.idx, val: a.val, rows: hi - lo, cols: a.cols}
	if k0 < k1 {
		part.entries = a.end[k1-1] - a.begin[k0]
	}
	if a.list != nil {
		part.list = list[:k1-k0]
		for k, r := range a.list[k0:k1] {
			part.list[k] = r - int32(lo)
		}
	}
	return part
}
