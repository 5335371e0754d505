//go:build cuda

package cuda

import "capgnn/gpu"

// GATScores: s[i][h] = Σ_c aSrc[hC+c]·T[i][hC+c], d likewise with aDst.
func (q *queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	c := q.check("GATScores")
	heads := s.Cols
	c.channels(t.Cols, heads)
	c.mat("t", t)
	c.shaped("s", s, t.Rows, heads)
	c.vec("aSrc", aSrc, t.Cols)
	if !d.Empty() {
		c.shaped("d", d, t.Rows, heads)
		c.vec("aDst", aDst, t.Cols)
	}
	if s.Empty() {
		return
	}
	q.begin("GATScores", gpu.PhaseOther)
	q.launch("capgnn_gat_scores", rowWarps(t.Rows), blockSize, 0, i64(int64(t.Rows)), i32(heads), i32(t.Cols/heads),
		matPtr(t), ld(t), vecPtr(aSrc), vecPtr(aDst), matPtr(s), ld(s), matPtr(d), ld(d))
}

// GATScoresBackward: dT += aSrc·ds + aDst·dd; daSrc += Σ ds·T, daDst += Σ dd·T.
func (q *queue) GATScoresBackward(a gpu.GATScoresGrad) {
	c := q.check("GATScoresBackward")
	rows, cols, heads := a.T.Rows, a.T.Cols, a.DS.Cols
	c.channels(cols, heads)
	c.mat("T", a.T)
	c.shaped("DT", a.DT, rows, cols)
	c.shaped("DS", a.DS, rows, heads)
	c.vec("ASrc", a.ASrc, cols)
	c.vec("DASrc", a.DASrc, cols)
	if !a.DD.Empty() {
		c.shaped("DD", a.DD, rows, heads)
		c.vec("ADst", a.ADst, cols)
		c.vec("DADst", a.DADst, cols)
	}
	if a.T.Empty() {
		return
	}
	q.begin("GATScoresBackward", gpu.PhaseOther)
	count, step := parts(rows)
	part := q.workspace(count*2*cols, 4)
	q.launch("capgnn_gat_scores_backward", dim{blocks(cols, 32), uint32(count)}, blockSize, 0,
		i64(int64(rows)), i32(cols), i32(cols/heads), matPtr(a.T), ld(a.T), matPtr(a.DT), ld(a.DT), matPtr(a.DS), ld(a.DS),
		matPtr(a.DD), ld(a.DD), vecPtr(a.ASrc), vecPtr(a.ADst), part, i64(int64(step)))
	q.addParts(vecPtr(a.DASrc), cols, 1, cols, part, 2*cols, count, 1)
	if !a.DD.Empty() {
		q.addParts(vecPtr(a.DADst), cols, 1, cols, part+word(4*cols), 2*cols, count, 1)
	}
}

// HeadMean: dst[i][c] = bias[c] + Σ_h src[i][hC+c] / heads.
func (q *queue) HeadMean(dst, src gpu.Matrix, bias gpu.Vec) {
	c := q.check("HeadMean")
	c.heads("src", src, dst)
	c.optional("bias", bias, dst.Cols)
	if dst.Empty() {
		return
	}
	q.begin("HeadMean", gpu.PhaseOther)
	q.launch("capgnn_head_mean", rowPieces(dst.Rows, dst.Cols), blockSize, 0, i64(int64(dst.Rows)), i32(dst.Cols),
		i32(src.Cols/dst.Cols), matPtr(dst), ld(dst), matPtr(src), ld(src), vecPtr(bias))
}

// HeadMeanBackward: dst[i][hC+c] = src[i][c] / heads.
func (q *queue) HeadMeanBackward(dst, src gpu.Matrix) {
	c := q.check("HeadMeanBackward")
	c.heads("dst", dst, src)
	if dst.Empty() {
		return
	}
	q.begin("HeadMeanBackward", gpu.PhaseOther)
	q.launch("capgnn_head_mean_backward", rowPieces(dst.Rows, dst.Cols), blockSize, 0, i64(int64(dst.Rows)), i32(src.Cols),
		i32(dst.Cols/src.Cols), matPtr(dst), ld(dst), matPtr(src), ld(src))
}

// heads checks that all holds the columns of one as often as there are heads.
func (c checker) heads(arg string, all, one gpu.Matrix) {
	c.mat(arg, all)
	c.mat("the mean of "+arg, one)
	if all.Rows != one.Rows || one.Cols == 0 && all.Cols != 0 || one.Cols > 0 && all.Cols%one.Cols != 0 {
		c.fail("%s is %d×%d, its mean %d×%d", arg, all.Rows, all.Cols, one.Rows, one.Cols)
	}
}
