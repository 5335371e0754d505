package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// Gather: dst[k][j] = src[rows[k]][j], converted. A row outside src is a fault.
func (q *Queue) Gather(dst, src gpu.Matrix, rows gpu.Ints) {
	c := q.check("Gather")
	c.Gather(dst, src, rows)
	d, s, list := eitherOf(dst), eitherOf(src), values(rows)
	if dst.Empty() {
		return
	}
	q.compute("Gather", gpu.PhasePick, func() {
		q.dev.pool.Rows(dst.Rows, dst.Cols, func(_, lo, hi int) {
			for k := lo; k < hi; k++ {
				r := int(list[k])
				if r < 0 || r >= src.Rows {
					c.Fail("rows[%d] is %d, src has %d rows", k, r, src.Rows)
				}
				kernel.CopyRow(d, k, s, r)
			}
		})
	})
}

// ScatterAdd: for k in order: dst[rows[k]][j] += src[k][j]. A row outside dst is a fault.
func (q *Queue) ScatterAdd(dst, src gpu.Matrix, rows gpu.Ints) {
	c := q.check("ScatterAdd")
	c.ScatterAdd(dst, src, rows)
	d, s, list := denseOf(dst), denseOf(src), values(rows)
	if s.Empty() {
		return
	}
	q.compute("ScatterAdd", gpu.PhaseOther, func() {
		for k, r := range list {
			if r < 0 || int(r) >= d.Rows {
				c.Fail("rows[%d] is %d, dst has %d rows", k, r, d.Rows)
			}
		}
		if ascending(list) {
			q.dev.pool.Rows(s.Rows, s.Cols, func(_, lo, hi int) {
				for k := lo; k < hi; k++ {
					kernel.Axpby(d.Row(int(list[k])), 1, s.Row(k), 1)
				}
			})
			return
		}
		// Rows may repeat: each thread takes a strip of columns and keeps the order of k.
		const strip = 64
		q.dev.pool.Each((s.Cols+strip-1)/strip, func(_, i int) {
			lo, hi := i*strip, min((i+1)*strip, s.Cols)
			for k, r := range list {
				kernel.Axpby(d.Row(int(r))[lo:hi], 1, s.Row(k)[lo:hi], 1)
			}
		})
	})
}

// ascending reports whether no row is listed twice because each is larger than the one before.
func ascending(list []int32) bool {
	for k := 1; k < len(list); k++ {
		if list[k] <= list[k-1] {
			return false
		}
	}
	return true
}
