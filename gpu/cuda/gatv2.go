//go:build cuda

package cuda

import (
	"slices"

	"capgnn/gpu"
)

// gatv2Widths are the columns of a tile, rising, in kernels whose lanes read four aligned columns at once; gatv2Thin are those of kernels whose lanes read one.
var gatv2Widths, gatv2Thin = []int{16, 64, 256}, []int{8, 48, 128}

// gatv2TilesOf returns the narrowest tiles that hold a head, else the widest tiles. m are the matrices whose rows are gathered or written.
func gatv2TilesOf(heads, channels int, m ...gpu.Matrix) gatTiles {
	unaligned := func(x gpu.Matrix) bool { return !x.Empty() && !aligned(x, 16) }
	if channels%4 != 0 || slices.ContainsFunc(m, unaligned) {
		return tilesOf("_s", gatv2Thin, heads, channels)
	}
	return tilesOf("_", gatv2Widths, heads, channels)
}

// GATv2Aggregate: sum over in-edges weighted by attention to sums of rows.
func (q *queue) GATv2Aggregate(a gpu.GATv2Args) {
	q.check("GATv2Aggregate").GATv2Aggregate(a)
	rows, cols, heads := a.O.Rows, a.O.Cols, a.LSE.Cols
	inner, halo := given(a.Inner), given(a.Halo)
	if a.Lo == a.Hi || cols == 0 {
		return
	}
	t := gatv2TilesOf(heads, cols/heads, a.O, a.T, a.THalo, a.R)
	hubs := q.dev.hubBlocks(inner.Entries + halo.Entries)
	q.begin("GATv2Aggregate", gpu.PhaseAggregation)
	kernel, scores, _ := q.scoring(a.Drop, a.Slope, false, 0, 1)
	q.launch("capgnn_gatv2_sum"+t.kernel+kernel, gatGrid(hubs, a.Hi-a.Lo, t.tiles), blockSize, 0, slices.Concat(
		[]word{matPtr(a.O), i32(a.O.LD), matPtr(a.LSE), i32(a.LSE.LD)},
		csrWords(inner), []word{matPtr(a.T), i32(a.T.LD)}, csrWords(halo), []word{matPtr(a.THalo), i32(a.THalo.LD), matPtr(a.R), i32(a.R.LD),
			vecPtr(a.Att), scores, i64(int64(a.Lo)), i64(int64(a.Hi)), pair(cols/heads, hubs)})...)
	entries := inner.Entries + halo.Entries // of rows as if they were equally long, as in GATAggregate
	q.counted((entries*int64(a.Hi)/int64(rows) - entries*int64(a.Lo)/int64(rows)) * int64(cols))
}

// GATv2BackwardDst: gradient of the destination rows and of the attention vector.
func (q *queue) GATv2BackwardDst(a gpu.GATv2GradDst) {
	q.check("GATv2BackwardDst").GATv2BackwardDst(a)
	rows, cols, heads := a.DO.Rows, a.DO.Cols, a.LSE.Cols
	inner, halo := given(a.Inner), given(a.Halo)
	if a.DO.Empty() {
		return
	}
	t := gatv2TilesOf(heads, cols/heads, a.DR, a.DA, a.DO, a.T, a.THalo, a.R)
	hubs := q.dev.hubBlocks(inner.Entries + halo.Entries)
	q.begin("GATv2BackwardDst", gpu.PhaseAggregation)
	q.launch("capgnn_gatv2_dots", gatGrid(0, rows, 1), blockSize, 0, matPtr(a.G), i32(a.G.LD), matPtr(a.DO), i32(a.DO.LD), matPtr(a.O), i32(a.O.LD),
		i64(int64(rows)), pair(heads, cols/heads))
	kernel, scores, _ := q.scoring(a.Drop, a.Slope, false, 0, 1)
	q.launch("capgnn_gatv2_dst"+t.kernel+kernel, gatGrid(hubs, rows, t.tiles), blockSize, 0, slices.Concat(
		[]word{matPtr(a.DR), i32(a.DR.LD), matPtr(a.DA), i32(a.DA.LD), matPtr(a.G), i32(a.G.LD), matPtr(a.DO), i32(a.DO.LD), matPtr(a.LSE), i32(a.LSE.LD)},
		csrWords(inner), []word{matPtr(a.T), i32(a.T.LD)}, csrWords(halo), []word{matPtr(a.THalo), i32(a.THalo.LD), matPtr(a.R), i32(a.R.LD),
			vecPtr(a.Att), scores, i64(int64(rows)), pair(cols/heads, hubs)})...)
	q.counted((inner.Entries + halo.Entries) * int64(cols))
}

// GATv2BackwardSrc: gradient of the source rows.
func (q *queue) GATv2BackwardSrc(a gpu.GATv2GradSrc) {
	q.check("GATv2BackwardSrc").GATv2BackwardSrc(a)
	rows, cols, heads := a.DT.Rows, a.DT.Cols, a.LSE.Cols
	edges := given(a.A)
	if a.DT.Empty() {
		return
	}
	t := gatv2TilesOf(heads, cols/heads, a.DT, a.T, a.DO, a.R)
	hubs := q.dev.hubBlocks(edges.Entries)
	q.begin("GATv2BackwardSrc", gpu.PhaseAggregation)
	kernel, scores, _ := q.scoring(a.Drop, a.Slope, true, 0, 1)
	q.launch("capgnn_gatv2_src"+t.kernel+kernel, gatGrid(hubs, rows, t.tiles), blockSize, 0, slices.Concat(
		[]word{matPtr(a.DT), i32(a.DT.LD), matPtr(a.T), i32(a.T.LD)}, csrWords(edges),
		[]word{matPtr(a.DO), i32(a.DO.LD), matPtr(a.R), i32(a.R.LD), matPtr(a.LSE), i32(a.LSE.LD), matPtr(a.G), i32(a.G.LD),
			vecPtr(a.Att), scores, i64(int64(rows)), pair(cols/heads, hubs)})...)
	q.counted(edges.Entries * int64(cols))
}
