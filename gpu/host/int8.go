package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
	"capgnn/hostmem"
)

// PackInt8: rows as int8 with a scale each, see gpu.PackArgs. A row outside Src is a fault.
func (q *Queue) PackInt8(a gpu.PackArgs) {
	c := q.check("PackInt8")
	c.PackInt8(a)
	d, src, list, ids := denseOf(a.Dst), eitherOf(a.Src), values(a.Rows), values(a.IDs)
	if d.Rows == 0 {
		return
	}
	q.compute("PackInt8", gpu.PhasePick, func() {
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
				kernel.PackRow(d.Row(k), x, kernel.Draw{ID: uint32(ids[i]), Stream: a.Stream, Epoch: a.Epoch, Key: key})
			}
		})
	})
}

// UnpackInt8: dst[k][j] = scale·q[j] of packed row k.
func (q *Queue) UnpackInt8(dst, packed gpu.Matrix) {
	q.check("UnpackInt8").UnpackInt8(dst, packed)
	p, d := denseOf(packed), eitherOf(dst)
	if dst.Empty() {
		return
	}
	q.compute("UnpackInt8", gpu.PhasePick, func() {
		room := q.dev.pool.Own(&q.dev.work.row, d.Spare())
		q.dev.pool.Rows(dst.Rows, dst.Cols, func(w, lo, hi int) {
			for k := lo; k < hi; k++ {
				from := p.Row(k)
				x := d.DraftRow(k, room.Of(w))
				kernel.Spread(x, hostmem.Bytes(from[1:]), from[0])
				d.StoreRow(k, x)
			}
		})
	})
}
