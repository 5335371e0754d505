//go:build cuda

package cuda

import "capgnn/gpu"

// Fill: m[i][j] = v.
func (q *queue) Fill(m gpu.Matrix, v float32) {
	q.check("Fill").Fill(m)
	if m.Empty() {
		return
	}
	q.begin("Fill", gpu.PhaseOther)
	m = flat(m)[0]
	rows, cols := shapeWords(m)
	q.launch("capgnn_fill", rowPieces(m.Rows, m.Cols), blockSize, 0, rows, cols, matPtr(m), ld(m), f32(v))
}

// Copy: dst[i][j] = src[i][j], converted.
func (q *queue) Copy(dst, src gpu.Matrix) {
	q.check("Copy").Copy(dst, src)
	q.begin("Copy", gpu.PhaseOther)
	m := flat(dst, src)
	q.move(m[0], m[1], 0)
}

// move launches dst[k][j] = src[list ? list[k] : k][j].
func (q *queue) move(dst, src gpu.Matrix, list word) {
	if dst.Empty() {
		return
	}
	rows, cols := shapeWords(dst)
	q.launch(typed("capgnn_move_", src, dst), rowPieces(dst.Rows, dst.Cols), blockSize, 0,
		rows, cols, matPtr(dst), ld(dst), matPtr(src), ld(src), list)
}

// Gather: dst[k][j] = src[rows[k]][j], converted.
func (q *queue) Gather(dst, src gpu.Matrix, rows gpu.Ints) {
	q.check("Gather").Gather(dst, src, rows)
	q.begin("Gather", gpu.PhasePick)
	q.move(dst, src, intsPtr(rows))
}

// mostOwners is the number of warps that share out the rows of ScatterAdd: each looks through the whole list.
const mostOwners = 2048

// ScatterAdd: for k in order: dst[rows[k]][j] += src[k][j].
func (q *queue) ScatterAdd(dst, src gpu.Matrix, rows gpu.Ints) {
	q.check("ScatterAdd").ScatterAdd(dst, src, rows)
	if src.Empty() {
		return
	}
	q.begin("ScatterAdd", gpu.PhaseOther)
	owners := min(mostOwners, dst.Rows, src.Rows)
	q.launch("capgnn_scatter_add", dim{blocks(owners, warps), 1}, blockSize, 0,
		i64(int64(src.Rows)), i32(dst.Cols), matPtr(dst), ld(dst), matPtr(src), ld(src), intsPtr(rows))
}

// Transpose: dst[j][i] = src[i][j].
func (q *queue) Transpose(dst, src gpu.Matrix) {
	q.check("Transpose").Transpose(dst, src)
	if src.Empty() {
		return
	}
	q.begin("Transpose", gpu.PhaseOther)
	tiles := int64(blocks(src.Rows, 32)) * int64(blocks(src.Cols, 32))
	rows, cols := shapeWords(src)
	q.launch("capgnn_transpose", dim{uint32(min(tiles, mostGrid)), 1}, blockSize, 0,
		rows, cols, matPtr(dst), ld(dst), matPtr(src), ld(src))
}

// Axpby: dst[i][j] = a·src[i][j] + b·dst[i][j]; with b = 0, dst is not read.
func (q *queue) Axpby(dst gpu.Matrix, a float32, src gpu.Matrix, b float32) {
	q.check("Axpby").Axpby(dst, src)
	if dst.Empty() {
		return
	}
	q.begin("Axpby", gpu.PhaseReduce)
	q.axpby(dst, a, src, b)
}

// axpby launches dst = a·src + b·dst.
func (q *queue) axpby(dst gpu.Matrix, a float32, src gpu.Matrix, b float32) {
	m := flat(dst, src)
	rows, cols := shapeWords(m[0])
	q.launch("capgnn_axpby", rowPieces(m[0].Rows, m[0].Cols), blockSize, 0,
		rows, cols, matPtr(m[0]), ld(m[0]), matPtr(m[1]), ld(m[1]), f32(a), f32(b))
}

// ScaleRows: dst[i][j] = scale[i]·src[i][j]. dst may be src.
func (q *queue) ScaleRows(dst, src gpu.Matrix, scale gpu.Vec) {
	q.check("ScaleRows").ScaleRows(dst, src, scale)
	if dst.Empty() {
		return
	}
	q.begin("ScaleRows", gpu.PhaseOther)
	rows, cols := shapeWords(dst)
	q.launch("capgnn_scale_rows", rowPieces(dst.Rows, dst.Cols), blockSize, 0,
		rows, cols, matPtr(dst), ld(dst), matPtr(src), ld(src), vecPtr(scale))
}

// AddScaled: dst[i][j] += (1 + s[0])·src[i][j].
func (q *queue) AddScaled(dst, src gpu.Matrix, s gpu.Vec) {
	q.check("AddScaled").AddScaled(dst, src, s)
	if dst.Empty() {
		return
	}
	q.begin("AddScaled", gpu.PhaseOther)
	m := flat(dst, src)
	name := "capgnn_add_scaled"
	if src.Type == gpu.BF16 {
		name += "_b"
	}
	rows, cols := shapeWords(m[0])
	q.launch(name, rowPieces(m[0].Rows, m[0].Cols), blockSize, 0,
		rows, cols, matPtr(m[0]), ld(m[0]), matPtr(m[1]), ld(m[1]), vecPtr(s))
}
