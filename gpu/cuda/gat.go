//go:build cuda

package cuda

import (
	"capgnn/gpu"
	"capgnn/gpu/check"
)

// Columns that a warp of the attention kernels holds: with loads of 16 bytes, and with loads of one element.
const (
	gatWide = 256
	gatThin = 128
	// gatHeads is how many heads of a row a warp's lanes sum at once.
	gatHeads = 32
)

// given returns a block of entries, the zero CSR where there is none.
func given(a gpu.CSR) gpu.CSR {
	if !check.Given(a) {
		return gpu.CSR{}
	}
	return a
}

// gatTiles returns how many heads a tile holds and how many tiles there are, for columns of a tile at most.
func gatTiles(heads, channels, columns, mostHeads int) (tileHeads, tiles int) {
	if tileHeads = min(heads, mostHeads, columns/channels); tileHeads > 1 {
		return tileHeads, int(blocks(heads, tileHeads))
	}
	return 1, heads * int(blocks(channels, columns))
}

// aligned4 reports whether all matrices that have elements can be loaded 16 bytes at a time.
func aligned4(m ...gpu.Matrix) bool {
	for _, x := range m {
		if !x.Empty() && !aligned(x, 16) {
			return false
		}
	}
	return true
}

// powerOfTwo reports whether a head's columns are held by a power of two of lanes, at most by all of two loads.
func powerOfTwo(channels int) bool {
	lanes := channels / 4
	return channels%4 == 0 && lanes&(lanes-1) == 0 && channels <= gatWide
}

// GATAggregate: attention-weighted sum over in-edges.
func (q *queue) GATAggregate(a gpu.GATArgs) {
	q.check("GATAggregate").GATAggregate(a)
	rows, cols, heads := a.O.Rows, a.O.Cols, a.LSE.Cols
	inner, halo := given(a.Inner), given(a.Halo)
	if a.Lo == a.Hi || cols == 0 {
		return
	}
	channels, name, columns := cols/heads, "capgnn_gat_1", gatThin
	if channels%4 == 0 && aligned4(a.O, a.T, a.THalo) {
		name, columns = "capgnn_gat_4", gatWide
	}
	tileHeads, tiles := gatTiles(heads, channels, columns, gatHeads)
	hubs := q.dev.hubBlocks(inner.Entries + halo.Entries)
	args := []word{matPtr(a.O), matPtr(a.LSE), pair(a.O.LD, a.LSE.LD)}
	args = append(append(args, csrWords(inner)...), matPtr(a.T), matPtr(a.S), pair(a.T.LD, a.S.LD))
	args = append(append(args, csrWords(halo)...), matPtr(a.THalo), matPtr(a.SHalo), pair(a.THalo.LD, a.SHalo.LD))
	args = append(args, matPtr(a.D), i32(a.D.LD), vecPtr(a.Bias), f32(a.Slope), i64(int64(a.Lo)), i64(int64(a.Hi)),
		pair(heads, channels), i32(tileHeads), i32(hubs))
	q.begin("GATAggregate", gpu.PhaseAggregation)
	q.launch(name, gatGrid(hubs, a.Hi-a.Lo, tiles), blockSize, 0, args...)
	// The entries of some rows are known to the device only: rows are counted as if they were equally long, and the calls for
	// all rows add up to the whole.
	entries := inner.Entries + halo.Entries
	q.counted((entries*int64(a.Hi)/int64(rows) - entries*int64(a.Lo)/int64(rows)) * int64(cols))
}

// gatGrid is a warp for every row, and before them the blocks for hubs, for every tile.
func gatGrid(hubs, rows, tiles int) dim {
	return dim{uint32(hubs) + blocks(rows, warps), uint32(tiles)}
}

// GATBackwardDst: gradient of the destination scores.
func (q *queue) GATBackwardDst(a gpu.GATGradDst) {
	q.check("GATBackwardDst").GATBackwardDst(a)
	rows, cols, heads := a.DO.Rows, a.DO.Cols, a.DD.Cols
	inner, halo := given(a.Inner), given(a.Halo)
	if a.DO.Empty() {
		return
	}
	channels, name, tileHeads, tiles := cols/heads, "capgnn_gat_dst_1", 1, heads
	if powerOfTwo(channels) && aligned4(a.DO, a.O, a.T, a.THalo) {
		name = "capgnn_gat_dst_4"
		tileHeads, tiles = gatTiles(heads, channels, gatWide, heads)
	}
	hubs := q.dev.hubBlocks(inner.Entries + halo.Entries)
	args := []word{matPtr(a.DD), matPtr(a.G), pair(a.DD.LD, a.G.LD), matPtr(a.DO), matPtr(a.O), pair(a.DO.LD, a.O.LD),
		matPtr(a.LSE), matPtr(a.D), pair(a.LSE.LD, a.D.LD)}
	args = append(append(args, csrWords(inner)...), matPtr(a.T), matPtr(a.S), pair(a.T.LD, a.S.LD))
	args = append(append(args, csrWords(halo)...), matPtr(a.THalo), matPtr(a.SHalo), pair(a.THalo.LD, a.SHalo.LD))
	args = append(args, vecPtr(a.Bias), f32(a.Slope), i64(int64(rows)), pair(heads, channels), i32(tileHeads), i32(hubs))
	q.begin("GATBackwardDst", gpu.PhaseAggregation)
	q.launch(name, gatGrid(hubs, rows, tiles), blockSize, 0, args...)
	q.counted((inner.Entries + halo.Entries) * int64(cols))
}

// GATBackwardSrc: gradient of the source rows and scores.
func (q *queue) GATBackwardSrc(a gpu.GATGradSrc) {
	q.check("GATBackwardSrc").GATBackwardSrc(a)
	rows, cols, heads := a.DT.Rows, a.DT.Cols, a.DS.Cols
	inner, halo := given(a.Inner), given(a.Halo)
	if a.DT.Empty() {
		return
	}
	channels, name := cols/heads, "capgnn_gat_src_1"
	tileHeads, tiles := 1, heads*int(blocks(channels, gatThin))
	if powerOfTwo(channels) && aligned4(a.DT, a.T, a.DO, a.DOHalo) {
		name = "capgnn_gat_src_4"
		tileHeads, tiles = gatTiles(heads, channels, gatWide, heads)
	}
	hubs := q.dev.hubBlocks(inner.Entries + halo.Entries)
	args := []word{matPtr(a.DT), matPtr(a.DS), pair(a.DT.LD, a.DS.LD), matPtr(a.T), matPtr(a.S), pair(a.T.LD, a.S.LD)}
	args = append(append(args, csrWords(inner)...), matPtr(a.DO), matPtr(a.D), matPtr(a.LSE), matPtr(a.G),
		pair(a.DO.LD, a.D.LD), pair(a.LSE.LD, a.G.LD))
	args = append(append(args, csrWords(halo)...), matPtr(a.DOHalo), matPtr(a.DHalo), matPtr(a.LSEHalo), matPtr(a.GHalo),
		pair(a.DOHalo.LD, a.DHalo.LD), pair(a.LSEHalo.LD, a.GHalo.LD))
	args = append(args, f32(a.Slope), pair(heads, channels), i64(int64(rows)), pair(tileHeads, hubs))
	q.begin("GATBackwardSrc", gpu.PhaseAggregation)
	q.launch(name, gatGrid(hubs, rows, tiles), blockSize, 0, args...)
	q.counted((inner.Entries + halo.Entries) * int64(cols))
}
