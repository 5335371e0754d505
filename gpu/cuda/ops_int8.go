//go:build cuda

package cuda

import "capgnn/gpu"

// PackInt8: rows as int8 with a scale each.
func (q *queue) PackInt8(a gpu.PackArgs) {
	c := q.check("PackInt8")
	c.shaped("Dst", a.Dst, a.Dst.Rows, gpu.Int8Words(a.Src.Cols))
	c.any("Src", a.Src)
	array(c, "Rows", a.Rows)
	array(c, "IDs", a.IDs)
	switch {
	case a.IDs.Len != a.Src.Rows:
		c.fail("%d ids for %d rows", a.IDs.Len, a.Src.Rows)
	case a.Rows.Empty() && a.Dst.Rows != a.Src.Rows, !a.Rows.Empty() && a.Dst.Rows != a.Rows.Len:
		c.fail("Dst has %d rows, Src %d, of which %d are listed", a.Dst.Rows, a.Src.Rows, a.Rows.Len)
	}
	if a.Dst.Rows == 0 {
		return
	}
	q.begin("PackInt8", gpu.PhasePick)
	q.launch(typed("capgnn_pack_int8_", a.Src), rowWarps(a.Dst.Rows), blockSize, 0, i64(int64(a.Dst.Rows)), i32(a.Src.Cols),
		matPtr(a.Dst), ld(a.Dst), matPtr(a.Src), ld(a.Src), intsPtr(a.Rows), intsPtr(a.IDs), u64(a.Seed), word(a.Stream)|word(a.Epoch)<<32)
}

// UnpackInt8: dst[k][j] = scale·q[j] of packed row k.
func (q *queue) UnpackInt8(dst, packed gpu.Matrix) {
	c := q.check("UnpackInt8")
	c.any("dst", dst)
	c.shaped("packed", packed, dst.Rows, gpu.Int8Words(dst.Cols))
	if dst.Empty() {
		return
	}
	q.begin("UnpackInt8", gpu.PhasePick)
	q.launch(typed("capgnn_unpack_int8_", dst), rowWarps(dst.Rows), blockSize, 0, i64(int64(dst.Rows)), i32(dst.Cols),
		matPtr(dst), ld(dst), matPtr(packed), ld(packed))
}
