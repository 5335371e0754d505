//go:build cuda

package cuda

import (
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/gpu/check"
)

// gatWidths are the columns that the kernels for heads of four aligned columns hold, rising; gatThin those of the others.
var gatWidths, gatThin = []int{16, 32, 64}, []int{8, 64}

// given returns a block of entries, the zero CSR where there is none.
func given(a gpu.CSR) gpu.CSR {
	if !check.Given(a) {
		return gpu.CSR{}
	}
	return a
}

// gatTiles is how kernels go through the columns of heads: a tile is one head, or a piece of a wide one.
type gatTiles struct {
	kernel string // what follows an operation's name
	pieces int    // of each head
	tiles  int    // of all heads
}

// gatTilesOf returns the narrowest tiles that hold a head, else the widest. m are the matrices whose rows are gathered or written.
func gatTilesOf(heads, channels int, m ...gpu.Matrix) gatTiles {
	if !gatVectors(heads, channels, m) {
		return tilesOf("_s", gatThin, heads, channels)
	}
	return tilesOf("_", gatWidths, heads, channels)
}

// tilesOf returns the narrowest tiles of a rising list that hold a head, else the widest.
func tilesOf(prefix string, list []int, heads, channels int) gatTiles {
	width := list[len(list)-1]
	for i := len(list) - 1; i >= 0 && list[i] >= channels; i-- {
		width = list[i]
	}
	pieces := int(blocks(channels, width))
	return gatTiles{fmt.Sprint(prefix, width), pieces, heads * pieces}
}

// gatVectors reports whether the columns of every head can be loaded 16 bytes at a time. The last load of a row may reach into the gap behind it.
func gatVectors(heads, channels int, m []gpu.Matrix) bool {
	for _, x := range m {
		row := (x.Cols + 3) / 4 * 4
		if x.Empty() {
			continue
		}
		if !aligned(x, 16) || row != x.Cols && (heads > 1 || row > x.LD || gpu.Bytes(4*(x.Off+(x.Rows-1)*x.LD+row)) > x.Buf.Size()) {
			return false
		}
	}
	return heads == 1 || channels%4 == 0
}

// gatShares are where the pieces of heads write their shares of a rows × heads matrix, and what adds these up.
type gatShares struct {
	at    word
	ld    int
	ahead int // elements from one piece's shares to those of the next
	add   func()
}

// shares has pieces write to their shares, which begin at scratch, or to the matrix where heads have one piece.
func (t gatTiles) shares(q *queue, m gpu.Matrix, scratch word) gatShares {
	if t.pieces == 1 {
		return gatShares{matPtr(m), m.LD, 0, func() {}}
	}
	n := m.Rows * m.Cols
	return gatShares{scratch, m.Cols, n, func() { q.addParts(matPtr(m), m.LD, m.Rows, m.Cols, scratch, n, t.pieces, 0) }}
}

// words is how much scratch the shares of a rows × heads matrix take, in floats.
func (t gatTiles) words(m gpu.Matrix) int {
	if t.pieces == 1 {
		return 0
	}
	return t.pieces * m.Rows * m.Cols
}

// edgeDropBytes is the room that capgnn_edge_drop writes, and what lies behind it begins at.
const edgeDropBytes = 64

// scoring is what the kernels of an operation are told of scores: the slope, or with dropout the address of that and of
// which
// weights are dropped. kernel follows their names; scratch is the address of n elements of size bytes. Rows of entries
// are their
// targets, or their sources.
func (q *queue) scoring(d gpu.EdgeDropout, slope float32, bySource bool, n, size int) (kernel string, scores, scratch word) {
	if d.P == 0 {
		return "", f32(slope), q.workspace(n, size)
	}
	at, flag := q.workspace(edgeDropBytes+n*size, 1), 0
	if bySource {
		flag = 1
	}
	q.launch("capgnn_edge_drop", dim{1, 1}, blockSize, 0, at, intsPtr(d.Rows), intsPtr(d.Inner), intsPtr(d.Halo), u64(d.Seed),
		word(gpu.EdgeStream(d.Layer, 0))|word(d.Epoch)<<32, word(gpu.DropoutThreshold(d.P)), f32(float32(1/(1-d.P))), f32(slope), i32(flag))
	return "_drop", at, at + edgeDropBytes
}

// gatHeads is how many heads of a row a warp's lanes sum at once.
const gatHeads = 32

// GATAggregate: attention-weighted sum over in-edges.
func (q *queue) GATAggregate(a gpu.GATArgs) {
	q.check("GATAggregate").GATAggregate(a)
	rows, cols, heads := a.O.Rows, a.O.Cols, a.LSE.Cols
	inner, halo := given(a.Inner), given(a.Halo)
	if a.Lo == a.Hi || cols == 0 {
		return
	}
	t := gatTilesOf(heads, cols/heads, a.O, a.T, a.THalo)
	hubs := q.dev.hubBlocks(inner.Entries + halo.Entries)
	lo, hi := i64(int64(a.Lo)), i64(int64(a.Hi))
	q.begin("GATAggregate", gpu.PhaseAggregation)
	kernel, scores, tops := q.scoring(a.Drop, a.Slope, false, (a.Hi-a.Lo)*heads, 8)
	q.launch("capgnn_gat_softmax", gatGrid(hubs, a.Hi-a.Lo, int(blocks(heads, gatHeads))), blockSize, 0, slices.Concat(
		[]word{matPtr(a.LSE), i32(a.LSE.LD), tops},
		csrWords(inner),
		[]word{matPtr(a.S), i32(a.S.LD)},
		csrWords(halo),
		[]word{matPtr(a.SHalo), i32(a.SHalo.LD), matPtr(a.D), i32(a.D.LD), f32(a.Slope), lo, hi, i32(heads), i32(hubs)})...)
	q.launch("capgnn_gat_sum"+t.kernel+kernel, gatGrid(hubs, a.Hi-a.Lo, t.tiles), blockSize, 0, slices.Concat(
		[]word{matPtr(a.O), i32(a.O.LD), tops},
		csrWords(inner),
		[]word{matPtr(a.T), matPtr(a.S), pair(a.T.LD, a.S.LD)},
		csrWords(halo),
		[]word{matPtr(a.THalo), matPtr(a.SHalo), pair(a.THalo.LD, a.SHalo.LD), matPtr(a.D), i32(a.D.LD), vecPtr(a.Bias), scores, lo, hi,
			pair(heads, cols/heads), i32(hubs)})...)
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
	t := gatTilesOf(heads, cols/heads, a.T, a.THalo)
	hubs := q.dev.hubBlocks(inner.Entries + halo.Entries)
	n, shape := i64(int64(rows)), pair(heads, cols/heads)
	q.begin("GATBackwardDst", gpu.PhaseAggregation)
	kernel, scores, signs := q.scoring(a.Drop, a.Slope, false, rows*heads+t.words(a.DD), 4)
	to := t.shares(q, a.DD, signs+word(4*rows*heads))
	q.launch("capgnn_gat_dst_rows", gatGrid(hubs, rows, int(blocks(heads, gatHeads))), blockSize, 0, slices.Concat(
		[]word{matPtr(a.G), i32(a.G.LD), signs, matPtr(a.DO), matPtr(a.O), pair(a.DO.LD, a.O.LD), vecPtr(a.Bias)},
		csrWords(inner),
		[]word{matPtr(a.S), i32(a.S.LD)},
		csrWords(halo),
		[]word{matPtr(a.SHalo), i32(a.SHalo.LD), matPtr(a.D), i32(a.D.LD), n, shape, i32(hubs)})...)
	q.launch("capgnn_gat_dst"+t.kernel+kernel, gatGrid(hubs, rows, t.tiles), blockSize, 0, slices.Concat(
		[]word{to.at, i32(to.ld), i64(int64(to.ahead)), matPtr(a.G), signs, matPtr(a.DO), matPtr(a.LSE), matPtr(a.D), pair(a.DO.LD, a.G.LD), pair(a.LSE.LD, a.D.LD)},
		csrWords(inner),
		[]word{matPtr(a.T), matPtr(a.S), pair(a.T.LD, a.S.LD)},
		csrWords(halo),
		[]word{matPtr(a.THalo), matPtr(a.SHalo), pair(a.THalo.LD, a.SHalo.LD), scores, n, shape, i32(hubs)})...)
	to.add()
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
	t := gatTilesOf(heads, cols/heads, a.DT, a.DO, a.DOHalo)
	hubs := q.dev.hubBlocks(inner.Entries + halo.Entries)
	q.begin("GATBackwardSrc", gpu.PhaseAggregation)
	kernel, scores, scratch := q.scoring(a.Drop, a.Slope, true, t.words(a.DS), 4)
	to := t.shares(q, a.DS, scratch)
	q.launch("capgnn_gat_src"+t.kernel+kernel, gatGrid(hubs, rows, t.tiles), blockSize, 0, slices.Concat(
		[]word{matPtr(a.DT), to.at, pair(a.DT.LD, to.ld), i64(int64(to.ahead)), matPtr(a.T), matPtr(a.S), pair(a.T.LD, a.S.LD)},
		csrWords(inner),
		[]word{matPtr(a.DO), matPtr(a.D), matPtr(a.LSE), matPtr(a.G), pair(a.DO.LD, a.D.LD), pair(a.LSE.LD, a.G.LD)},
		csrWords(halo),
		[]word{matPtr(a.DOHalo), matPtr(a.DHalo), matPtr(a.LSEHalo), matPtr(a.GHalo), pair(a.DOHalo.LD, a.DHalo.LD), pair(a.LSEHalo.LD, a.GHalo.LD),
			scores, i64(int64(rows)), pair(cols/heads, hubs)})...)
	to.add()
	q.counted((inner.Entries + halo.Entries) * int64(cols))
}
