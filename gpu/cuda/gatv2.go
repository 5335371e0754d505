//go:build cuda

package cuda

import (
	"slices"

	"capgnn/gpu"
)

// gatv2TilesOf returns the narrower tiles if they hold a head, else the wider ones.
func gatv2TilesOf(heads, channels int) gatTiles {
	kernel, width := "_16", 16
	if channels > width {
		kernel, width = "_128", 128
	}
	pieces := int(blocks(channels, width))
	return gatTiles{kernel, pieces, heads * pieces}
}

// GATv2Aggregate: sum over in-edges weighted by attention to sums of rows.
func (q *queue) GATv2Aggregate(a gpu.GATv2Args) {
	q.check("GATv2Aggregate").GATv2Aggregate(a)
	rows, cols, heads := a.O.Rows, a.O.Cols, a.LSE.Cols
	inner, halo := given(a.Inner), given(a.Halo)
	if a.Lo == a.Hi || cols == 0 {
		return
	}
	t := gatv2TilesOf(heads, cols/heads)
	q.begin("GATv2Aggregate", gpu.PhaseAggregation)
	q.launch("capgnn_gatv2_sum"+t.kernel, gatGrid(0, a.Hi-a.Lo, t.tiles), blockSize, 0, slices.Concat(
		[]word{matPtr(a.O), i32(a.O.LD), matPtr(a.LSE), i32(a.LSE.LD)},
		csrWords(inner), []word{matPtr(a.T), i32(a.T.LD)}, csrWords(halo), []word{matPtr(a.THalo), i32(a.THalo.LD), matPtr(a.R), i32(a.R.LD),
			vecPtr(a.Att), f32(a.Slope), i64(int64(a.Lo)), i64(int64(a.Hi)), i32(cols / heads)})...)
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
	t := gatv2TilesOf(heads, cols/heads)
	q.begin("GATv2BackwardDst", gpu.PhaseAggregation)
	q.launch("capgnn_gatv2_dots", gatGrid(0, rows, 1), blockSize, 0, matPtr(a.G), i32(a.G.LD), matPtr(a.DO), i32(a.DO.LD), matPtr(a.O), i32(a.O.LD),
		i64(int64(rows)), pair(heads, cols/heads))
	q.launch("capgnn_gatv2_dst"+t.kernel, gatGrid(0, rows, t.tiles), blockSize, 0, slices.Concat(
		[]word{matPtr(a.DR), i32(a.DR.LD), matPtr(a.DA), i32(a.DA.LD), matPtr(a.G), i32(a.G.LD), matPtr(a.DO), i32(a.DO.LD), matPtr(a.LSE), i32(a.LSE.LD)},
		csrWords(inner), []word{matPtr(a.T), i32(a.T.LD)}, csrWords(halo), []word{matPtr(a.THalo), i32(a.THalo.LD), matPtr(a.R), i32(a.R.LD),
			vecPtr(a.Att), f32(a.Slope), i64(int64(rows)), i32(cols / heads)})...)
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
	t := gatv2TilesOf(heads, cols/heads)
	q.begin("GATv2BackwardSrc", gpu.PhaseAggregation)
	q.launch("capgnn_gatv2_src"+t.kernel, gatGrid(0, rows, t.tiles), blockSize, 0, slices.Concat(
		[]word{matPtr(a.DT), i32(a.DT.LD), matPtr(a.T), i32(a.T.LD)}, csrWords(edges),
		[]word{matPtr(a.DO), i32(a.DO.LD), matPtr(a.R), i32(a.R.LD), matPtr(a.LSE), i32(a.LSE.LD), matPtr(a.G), i32(a.G.LD),
			vecPtr(a.Att), f32(a.Slope), i64(int64(rows)), i32(cols / heads)})...)
	q.counted(edges.Entries * int64(cols))
}
