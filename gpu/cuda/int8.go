//go:build cuda

package cuda

import "capgnn/gpu"

// PackInt8: rows as int8 with a scale each.
func (q *queue) PackInt8(a gpu.PackArgs) {
	q.check("PackInt8").PackInt8(a)
	if a.Dst.Rows == 0 {
		return
	}
	q.begin("PackInt8", gpu.PhasePick)
	q.launch(typed("capgnn_pack_int8_", a.Src), rowWarps(a.Dst.Rows), blockSize, 0, i64(int64(a.Dst.Rows)), i32(a.Src.Cols),
		matPtr(a.Dst), ld(a.Dst), matPtr(a.Src), ld(a.Src), intsPtr(a.Rows), intsPtr(a.IDs), u64(a.Seed), word(a.Stream)|word(a.Epoch)<<32)
}

// UnpackInt8: dst[k][j] = scale·q[j] of packed row k.
func (q *queue) UnpackInt8(dst, packed gpu.Matrix) {
	q.check("UnpackInt8").UnpackInt8(dst, packed)
	if dst.Empty() {
		return
	}
	q.begin("UnpackInt8", gpu.PhasePick)
	q.launch(typed("capgnn_unpack_int8_", dst), rowWarps(dst.Rows), blockSize, 0, i64(int64(dst.Rows)), i32(dst.Cols),
		matPtr(dst), ld(dst), matPtr(packed), ld(packed))
}
