//go:build cuda

package cuda

import (
	"slices"

	"capgnn/gpu"
)

// valuedWords are csrWords and the values.
func valuedWords(a gpu.CSR) []word {
	a = given(a)
	return append(csrWords(a), vecPtr(a.Val))
}

func strided(m ...gpu.Matrix) (words []word) {
	for _, x := range m {
		words = append(words, matPtr(x), ld(x))
	}
	return words
}

// DotAggregate: sum over in-edges weighted by attention to products of rows.
func (q *queue) DotAggregate(a gpu.DotArgs) {
	q.check("DotAggregate").DotAggregate(a)
	if a.O.Empty() {
		return
	}
	rows, cols, heads := a.O.Rows, a.O.Cols, a.LSE.Cols
	q.begin("DotAggregate", gpu.PhaseAggregation)
	_, drop, _ := q.scoring(a.Drop, 0, false, 0, 1)
	q.launch("capgnn_dot_sum", rowWarps(rows*heads), blockSize, 0, slices.Concat(
		strided(a.O, a.LSE, a.Q), valuedWords(a.Inner), strided(a.K, a.V), valuedWords(a.Halo),
		strided(a.KHalo, a.VHalo), []word{drop, i64(int64(rows)), pair(heads, cols/heads)})...)
	q.counted((a.Inner.Entries + a.Halo.Entries) * int64(cols))
}

// DotBackwardDst: gradient of the destination rows.
func (q *queue) DotBackwardDst(a gpu.DotGradDst) {
	q.check("DotBackwardDst").DotBackwardDst(a)
	if a.DO.Empty() {
		return
	}
	rows, cols, heads := a.DO.Rows, a.DO.Cols, a.LSE.Cols
	q.begin("DotBackwardDst", gpu.PhaseAggregation)
	q.launch("capgnn_gatv2_dots", gatGrid(0, rows, 1), blockSize, 0, matPtr(a.G), i32(a.G.LD), matPtr(a.DO),
		i32(a.DO.LD), matPtr(a.O), i32(a.O.LD), i64(int64(rows)), pair(heads, cols/heads))
	_, drop, _ := q.scoring(a.Drop, 0, false, 0, 1)
	q.launch("capgnn_dot_dst", rowWarps(rows*heads), blockSize, 0, slices.Concat(
		strided(a.DQ), []word{matPtr(a.G), matPtr(a.LSE), pair(a.G.LD, a.LSE.LD)}, strided(a.DO, a.Q),
		valuedWords(a.Inner), strided(a.K, a.V), valuedWords(a.Halo),
		[]word{matPtr(a.KHalo), matPtr(a.VHalo), pair(a.KHalo.LD, a.VHalo.LD), drop, i64(int64(rows)),
			pair(heads, cols/heads)})...)
	q.counted((a.Inner.Entries + a.Halo.Entries) * int64(cols))
}

// DotBackwardSrc: gradient of the source rows.
func (q *queue) DotBackwardSrc(a gpu.DotGradSrc) {
	q.check("DotBackwardSrc").DotBackwardSrc(a)
	if a.DK.Empty() {
		return
	}
	rows, cols := a.DK.Rows, a.DK.Cols
	q.begin("DotBackwardSrc", gpu.PhaseAggregation)
	_, drop, _ := q.scoring(a.Drop, 0, true, 0, 1)
	block := func(edges gpu.CSR, do, r, lse, g gpu.Matrix, halo int) {
		q.launch("capgnn_dot_src", rowWarps(rows*a.Heads), blockSize, 0, slices.Concat(
			strided(a.DK, a.DV, a.K, a.V), valuedWords(edges),
			[]word{matPtr(r), matPtr(do), pair(r.LD, do.LD), matPtr(lse), matPtr(g), pair(lse.LD, g.LD), drop,
				i32(halo), i64(int64(rows)), pair(a.Heads, cols/a.Heads)})...)
	}
	block(a.Inner, a.DO, a.Q, a.LSE, a.G, 0)
	if given(a.Halo).Entries > 0 {
		block(a.Halo, a.DOHalo, a.QHalo, a.LSEHalo, a.GHalo, 1)
	}
	q.counted((a.Inner.Entries + a.Halo.Entries) * int64(cols))
}
