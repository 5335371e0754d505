//go:build cuda

package cuda

import "capgnn/gpu"

// GATScores: s[i][h] = Σ_c aSrc[hC+c]·T[i][hC+c], d likewise with aDst.
func (q *queue) GATScores(s, d, t gpu.Matrix, aSrc, aDst gpu.Vec) {
	q.check("GATScores").GATScores(s, d, t, aSrc, aDst)
	heads := s.Cols
	if s.Empty() {
		return
	}
	q.begin("GATScores", gpu.PhaseOther)
	q.launch("capgnn_gat_scores", rowWarps(t.Rows), blockSize, 0, i64(int64(t.Rows)), i32(heads), i32(t.Cols/heads),
		matPtr(t), ld(t), vecPtr(aSrc), vecPtr(aDst), matPtr(s), ld(s), matPtr(d), ld(d))
}

// GATScoresBackward: dT += aSrc·ds + aDst·dd; daSrc += Σ ds·T, daDst += Σ dd·T.
func (q *queue) GATScoresBackward(a gpu.GATScoresGrad) {
	q.check("GATScoresBackward").GATScoresBackward(a)
	rows, cols, heads := a.T.Rows, a.T.Cols, a.DS.Cols
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
	q.check("HeadMean").HeadMean(dst, src, bias)
	if dst.Empty() {
		return
	}
	q.begin("HeadMean", gpu.PhaseOther)
	q.launch("capgnn_head_mean", rowPieces(dst.Rows, dst.Cols), blockSize, 0, i64(int64(dst.Rows)), i32(dst.Cols),
		i32(src.Cols/dst.Cols), matPtr(dst), ld(dst), matPtr(src), ld(src), vecPtr(bias))
}

// HeadMeanBackward: dst[i][hC+c] = src[i][c] / heads.
func (q *queue) HeadMeanBackward(dst, src gpu.Matrix) {
	q.check("HeadMeanBackward").HeadMeanBackward(dst, src)
	if dst.Empty() {
		return
	}
	q.begin("HeadMeanBackward", gpu.PhaseOther)
	q.launch("capgnn_head_mean_backward", rowPieces(dst.Rows, dst.Cols), blockSize, 0, i64(int64(dst.Rows)), i32(src.Cols),
		i32(dst.Cols/src.Cols), matPtr(dst), ld(dst), matPtr(src), ld(src))
}
