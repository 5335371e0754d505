package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// PackRows: rows in 8 or 2 bits with a scale each, see gpu.PackArgs. A row outside Src is a fault.
func (q *Queue) PackRows(a gpu.PackArgs) {
	c := q.check("PackRows")
	c.PackRows(a)
	d, src, list, ids := denseOf(a.Dst), eitherOf(a.Src), values(a.Rows), values(a.IDs)
	if d.Rows == 0 {
		return
	}
	q.compute("PackRows", gpu.PhasePick, func() {
		cols, key := a.Src.Cols, gpu.SeedKey(a.Seed)
		room := q.dev.pool.Own(&q.dev.work.row, src.Spare())
		q.dev.pool.Rows(d.Rows, cols, func(w, lo, hi int) {
			for k := lo; k < hi; k++ {
				i := k
				if list != nil {
					i = int(list[k])
				}
				if i < 0 || i >= a.Src.Rows {
					c.Fail("Rows[%d] is %d, Src has %d rows", k, i, a.Src.Rows)
				}
				var x []float32
				if cols > 0 {
					x = src.WideRow(i, room.Of(w))
				}
				kernel.PackRow(d.Row(k), x, a.Bits, kernel.Draw{ID: uint32(ids[i]), Stream: a.Stream, Epoch: a.Epoch, Key: key})
			}
		})
	})
}

// UnpackRows: packed rows as numbers, see gpu.Ops.
func (q *Queue) UnpackRows(dst, packed gpu.Matrix, bits int) {
	q.check("UnpackRows").UnpackRows(dst, packed, bits)
	p, d := denseOf(packed), eitherOf(dst)
	if dst.Empty() {
		return
	}
	q.compute("UnpackRows", gpu.PhasePick, func() {
		room := q.dev.pool.Own(&q.dev.work.row, d.Spare())
		q.dev.pool.Rows(dst.Rows, dst.Cols, func(w, lo, hi int) {
			for k := lo; k < hi; k++ {
				x := d.DraftRow(k, room.Of(w))
				kernel.UnpackRow(x, p.Row(k), bits)
				d.StoreRow(k, x)
			}
		})
	})
}
