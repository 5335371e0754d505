//go:build cuda

package cuda

import "capgnn/gpu"

// ColSum: dst[j] = Σ_i m[i][j] + b·dst[j], in blocks of rows; with b = 0, dst is not read.
func (q *queue) ColSum(dst gpu.Vec, m gpu.Matrix, b float32) {
	q.check("ColSum").ColSum(dst, m)
	if m.Cols == 0 {
		return
	}
	q.begin("ColSum", gpu.PhaseOther)
	count, step := parts(m.Rows)
	part := q.workspace(count*m.Cols, 4)
	name := "capgnn_col_sum"
	if m.Type == gpu.BF16 {
		name += "_b"
	}
	q.launch(name, dim{blocks(m.Cols, 32), uint32(count)}, blockSize, 0,
		i64(int64(m.Rows)), i32(m.Cols), matPtr(m), ld(m), part, i64(int64(step)))
	q.addParts(vecPtr(dst), m.Cols, 1, m.Cols, part, m.Cols, count, b)
}

// Dot: dst[0] = Σ_i Σ_j x[i][j]·y[i][j] + b·dst[0], in float64; with b = 0, dst is not read.
func (q *queue) Dot(dst gpu.Vec, x, y gpu.Matrix, b float32) {
	q.check("Dot").Dot(dst, x, y)
	q.begin("Dot", gpu.PhaseOther)
	m := flat(x, y)
	count := 0
	var part word
	if !x.Empty() {
		count = min(mostParts, int(rowPieces(m[0].Rows, m[0].Cols).x))
		part = q.workspace(count, 8)
		rows, cols := shapeWords(m[0])
		q.launch(typed("capgnn_dot_", m...), dim{uint32(count), 1}, blockSize, 0,
			rows, cols, matPtr(m[0]), ld(m[0]), matPtr(m[1]), ld(m[1]), part)
	}
	q.launch("capgnn_dot_end", dim{1, 1}, 32, 0, vecPtr(dst), part, i32(count), f32(b))
}
