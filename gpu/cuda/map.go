//go:build cuda

package cuda

import "capgnn/gpu"

// Map: dst[i][j] = f(src[i][j])·by[i][j] + beta·dst[i][j].
func (q *queue) Map(a gpu.MapArgs) {
	q.check("Map").Map(a)
	if a.Dst.Empty() {
		return
	}
	q.begin("Map", gpu.PhaseOther)
	steps := func(m gpu.Matrix) (row, column word) {
		if m.Rows > 1 {
			row = ld(m)
		}
		if m.Cols > 1 {
			column = 1
		}
		return row, column
	}
	rows, cols := a.Dst.Rows, a.Dst.Cols
	row, column := steps(a.Dst)
	srcRow, srcColumn := steps(a.Src)
	byRow, byColumn := steps(a.By)
	if cols == 1 { // warps take columns
		rows, cols = cols, rows
		row, column, srcRow, srcColumn, byRow, byColumn = column, row, srcColumn, srcRow, byColumn, byRow
	}
	slope := 0
	if a.Slope {
		slope = 1
	}
	q.launch("capgnn_map", rowPieces(rows, cols), blockSize, 0, i64(int64(rows)), i64(int64(cols)), matPtr(a.Dst), row, column,
		matPtr(a.Src), srcRow, srcColumn, matPtr(a.By), byRow, byColumn, i32(int(a.F)), i32(slope), f32(a.A), f32(a.B), f32(a.Beta))
}
