package host

import (
	"math"

	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// Fill: m[i][j] = v.
func (q *Queue) Fill(m gpu.Matrix, v float32) {
	q.check("Fill").Fill(m)
	d := denseOf(m)
	if d.Empty() {
		return
	}
	q.compute("Fill", gpu.PhaseOther, func() {
		q.dev.pool.Pieces(d.Rows, d.Cols, func(i, lo, hi int) {
			part := d.Row(i)[lo:hi]
			if math.Float32bits(v) == 0 {
				clear(part)
				return
			}
			for j := range part {
				part[j] = v
			}
		})
	})
}

// Copy: dst[i][j] = src[i][j], converted.
func (q *Queue) Copy(dst, src gpu.Matrix) {
	q.check("Copy").Copy(dst, src)
	d, s := eitherOf(dst), eitherOf(src)
	if dst.Empty() {
		return
	}
	q.compute("Copy", gpu.PhaseOther, func() {
		q.dev.pool.Rows(dst.Rows, dst.Cols, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				kernel.CopyRow(d, i, s, i)
			}
		})
	})
}

// Axpby: dst[i][j] = a·src[i][j] + b·dst[i][j]; with b = 0, dst is not read.
func (q *Queue) Axpby(dst gpu.Matrix, a float32, src gpu.Matrix, b float32) {
	q.check("Axpby").Axpby(dst, src)
	d, s := denseOf(dst), denseOf(src)
	if d.Empty() {
		return
	}
	q.compute("Axpby", gpu.PhaseReduce, func() {
		q.dev.pool.Pieces(d.Rows, d.Cols, func(i, lo, hi int) {
			kernel.Axpby(d.Row(i)[lo:hi], a, s.Row(i)[lo:hi], b)
		})
	})
}

// ScaleRows: dst[i][j] = scale[i]·src[i][j]. dst may be src.
func (q *Queue) ScaleRows(dst, src gpu.Matrix, scale gpu.Vec) {
	q.check("ScaleRows").ScaleRows(dst, src, scale)
	d, s, w := denseOf(dst), denseOf(src), values(scale)
	if d.Empty() {
		return
	}
	q.compute("ScaleRows", gpu.PhaseOther, func() {
		q.dev.pool.Rows(d.Rows, d.Cols, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				kernel.Axpby(d.Row(i), w[i], s.Row(i), 0)
			}
		})
	})
}

// AddScaled: dst[i][j] += (1 + s[0])·src[i][j].
func (q *Queue) AddScaled(dst, src gpu.Matrix, s gpu.Vec) {
	q.check("AddScaled").AddScaled(dst, src, s)
	d, x, eps := denseOf(dst), eitherOf(src), values(s)
	if d.Empty() {
		return
	}
	q.compute("AddScaled", gpu.PhaseOther, func() {
		a, room := 1+eps[0], q.dev.pool.Own(&q.dev.work.row, x.Spare())
		q.dev.pool.Rows(d.Rows, d.Cols, func(w, lo, hi int) {
			for i := lo; i < hi; i++ {
				kernel.Axpby(d.Row(i), a, x.WideRow(i, room.Of(w)), 1)
			}
		})
	})
}
