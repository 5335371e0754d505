package layered

import (
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
)

// load copies a block and the rows that it reads to the device, and returns what a pass reads there. The chunk
// begins with the first-th vertex of the part.
func (w *worker) load(s *slot, t *task, from rows, first int) (g gnn.LayerGraph, in gnn.Input) {
	q, numbers := w.copies, gpu.Ints{}
	rows := func(buf int, from []byte, at []int32, kept gpu.Matrix) gpu.Matrix {
		m := gpu.Matrix{Buf: s.dev[buf], Rows: len(s.ids), Cols: t.in, LD: t.in, Type: t.inType}
		switch {
		case !kept.Empty() && t.some:
			q.Gather(m, kept, numbers)
		case !kept.Empty():
			q.Copy(m, kept.RowRange(first, first+m.Rows))
		case buf == inX && t.dense && w.direct:
			q.(gpu.HostWriter).UploadBy(m.Buf, 0, 4*gpu.Bytes(m.Rows*t.in), func(dst []byte) {
				w.features(hostmem.Of[float32](dst), s.ids, t.in)
			})
		case buf == inX && t.dense:
			put(q, m.Buf, s.dense)
		default:
			q.UploadRows(m, from, at)
		}
		return m
	}
	g = gnn.LayerGraph{Rows: s.rows, Src: len(s.ids)}
	if t.given {
		if t.some && !(w.kept.AX.Empty() && w.kept.X.Empty()) {
			numbers = put(q, s.dev[inIndices], s.numbers)
		}
		if in.AX = rows(inAX, from.ax, s.at, w.kept.AX); t.roots {
			in.X.Dense = rows(inX, from.x, s.ids, w.kept.X)
		}
		return g, in
	}
	begin, indices := put(q, s.dev[inBegin], s.begin), put(q, s.dev[inIndices], s.indices)
	g.Forward = gnn.Operand{Inner: gpu.CSRAt(begin, indices, put(q, s.dev[inWeights], s.weights), s.rows, g.Src),
		RowScale: put(q, s.dev[inRowScale], s.rowScale), ColScale: put(q, s.dev[inColScale], s.colScale)}
	switch at := s.ids; {
	case t.sparse:
		x := &s.values
		begin, indices := put(q, s.dev[inValueBegin], x.Indptr), put(q, s.dev[inValueIndices], x.Indices)
		val := put(q, s.dev[inValues], x.Weights)
		in.X = gnn.Features{Sparse: gpu.CSRAt(begin, indices, val, g.Src, t.in), Before: x.Indptr}
	case from.placed:
		at = s.at
		fallthrough
	default:
		in.X.Dense = rows(inX, from.x, at, gpu.Matrix{})
	}
	return g, in
}

// put copies an array to a buffer, and returns it there.
func put[T gpu.Element](q gpu.Queue, b gpu.Buffer, host []T) gpu.Array[T] {
	if len(host) == 0 {
		return gpu.Array[T]{}
	}
	q.Upload(b, 0, hostmem.Bytes(host))
	return gpu.Array[T]{Buf: b, Len: len(host)}
}

// numbered returns, in dst's place, the places in all of ids, which are some of them; both ascend.
func numbered(dst []int32, ids, all []graph.NodeID) []int32 {
	dst = resized(dst, len(ids))
	at, _ := slices.BinarySearch(all, ids[0])
	for i, v := range ids {
		for all[at] != v {
			at++
		}
		dst[i] = int32(at)
	}
	return dst
}

// features writes rows of features that do not lie by vertex. They are read in the order of the vertices, which is
// about that of a shard, so that no more than a piece of what is mapped is in memory at a time.
func (w *worker) features(dst []float32, ids []graph.NodeID, cols int) {
	piece := max(blockRows, pieceBytes/4/cols)
	for from := 0; from < len(ids); from += piece {
		some := ids[from:min(len(ids), from+piece)]
		graph.EachBlock(len(some), blockRows, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				w.e.p.FillFeatures(dst[(from+i)*cols:][:cols], some[i])
			}
		})
		w.e.p.Rest()
	}
}

// pieceBytes is how much is read before mapped features leave the process's memory.
const pieceBytes = 8 << 20
