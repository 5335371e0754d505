//go:build cuda

package cuda

import (
	"fmt"

	"capgnn/gpu"
)

// PackRows: rows in 8 or 2 bits with a scale each.
func (q *queue) PackRows(a gpu.PackArgs) {
	q.check("PackRows").PackRows(a)
	if a.Dst.Rows == 0 {
		return
	}
	q.begin("PackRows", gpu.PhasePick)
	q.launch(typed(fmt.Sprintf("capgnn_pack_int%d_", a.Bits), a.Src), rowWarps(a.Dst.Rows), blockSize, 0, i64(int64(a.Dst.Rows)), i32(a.Src.Cols),
		matPtr(a.Dst), ld(a.Dst), matPtr(a.Src), ld(a.Src), intsPtr(a.Rows), intsPtr(a.IDs), u64(a.Seed), word(a.Stream)|word(a.Epoch)<<32)
}

// UnpackRows: packed rows as numbers, see gpu.Ops.
func (q *queue) UnpackRows(dst, packed gpu.Matrix, bits int) {
	q.check("UnpackRows").UnpackRows(dst, packed, bits)
	if dst.Empty() {
		return
	}
	q.begin("UnpackRows", gpu.PhasePick)
	q.launch(typed(fmt.Sprintf("capgnn_unpack_int%d_", bits), dst), rowWarps(dst.Rows), blockSize, 0, i64(int64(dst.Rows)), i32(dst.Cols),
		matPtr(dst), ld(dst), matPtr(packed), ld(packed))
}
