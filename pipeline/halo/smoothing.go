package halo

import (
	"capgnn/gpu"
	"capgnn/graph"
)

// Rows that may be of an earlier epoch are smoothed where they are kept: a refresh makes ĥ = γ·ĥ + (1 − γ)·h of what lies there and of the fresh row,
// an exponential moving average over refreshes (PipeGCN, ICLR 2022, §3.4). Rows that come straight from their owner are smoothed in the reader's
// local slot. Those of the global cache are smoothed by their owner before it publishes them, once for all their readers. Rows without a slot
// are as their owner made them. The first epoch of a schedule replaces all.

// mixes reports whether a refresh in an epoch leaves a share of what slots hold.
func (t *traffic) mixes(epoch int) bool {
	s := t.schedule()
	return t.gamma > 0 && s.Bound() > 0 && epoch != s.Start
}

// mix enqueues dst = γ·dst + (1 − γ)·rows that have arrived at src.
func (r *side) mix(q gpu.Queue, dst, src gpu.Matrix) {
	fresh := src
	if r.coding.as != FP32 || r.dtype != gpu.FP32 {
		fresh = floats(r.ep.mixing[0], dst)
		r.decode(q, fresh, src)
	}
	if r.dtype == gpu.FP32 {
		q.Axpby(dst, 1-r.gamma, fresh, r.gamma)
		return
	}
	kept := floats(r.ep.mixing[1], dst)
	q.Copy(kept, dst)
	q.Axpby(kept, 1-r.gamma, fresh, r.gamma)
	q.Copy(dst, kept)
}

// floats returns a matrix of the shape of m at the beginning of a buffer, as FP32.
func floats(buf gpu.Buffer, m gpu.Matrix) gpu.Matrix {
	return gpu.Matrix{Buf: buf, Rows: m.Rows, Cols: m.Cols, LD: m.Cols}
}

// smoothed is the moving averages of the rows that a part puts into the global cache, in FP32, class after class.
type smoothed struct {
	rows gpu.Matrix
	at   []int    // by class: where its rows begin, and at last their number
	ids  gpu.Ints // original id of the vertex of each row, where an encoding asks
}

// averages returns how many of the last rows of a block are sent as averages.
func (r *sender) averages(block, epoch int) int {
	if block == 0 || r.smoothed.rows.Empty() || !r.mixes(epoch) {
		return 0
	}
	return r.smoothed.at[block] - r.smoothed.at[block-1]
}

// smooth brings the averages of the blocks of an epoch up to date, and packs those that are sent in the place of rows for the global cache. starts are where the blocks begin in the send buffer.
func (r *sender) smooth(q gpu.Queue, box *sendBuffer, rows gpu.Matrix, epoch int, blocks, starts []int) {
	s := &r.smoothed
	if s.rows.Empty() {
		return
	}
	for k, b := range blocks {
		if b == 0 || s.at[b] == s.at[b-1] {
			continue
		}
		state, end := s.rows.RowRange(s.at[b-1], s.at[b]), r.at[b+1]
		list := r.list.Slice(end-state.Rows, end)
		if !r.mixes(epoch) {
			q.Gather(state, rows, list)
			continue
		}
		r.eachPiece(state.Rows, func(lo, hi int) {
			part := state.RowRange(lo, hi)
			fresh := floats(r.ep.mixing[0], part)
			q.Gather(fresh, rows, list.Slice(lo, hi))
			q.Axpby(part, 1-r.gamma, fresh, r.gamma)
		})
		ids := s.ids
		if ids.Len > 0 {
			ids = ids.Slice(s.at[b-1], s.at[b])
		}
		r.encode(q, r.wire(box.send, starts[k]+end-r.at[b]-state.Rows, state.Rows), state, gpu.Ints{}, ids, epoch)
	}
}

// published returns the rows of a block that a part puts into global caches, its rank's or those of others.
func (t *traffic) published(block, part int) (ids []graph.NodeID) {
	if t.global != nil {
		ids = append(ids, t.global[block-1][part]...)
	}
	for _, x := range t.crossingsOf(part) {
		ids = append(ids, x.shared[block]...)
	}
	return ids
}

// smoothings takes the memory of averages, and of rows while they are mixed.
func (a *attachment) smoothings(train *Exchange) {
	var mixing [2]gpu.Bytes
	var relays []*relay
	for _, r := range train.relays {
		relays = append(relays, r.both()...)
	}
	for _, r := range relays {
		if r.gamma == 0 {
			continue
		}
		r.smoothed.at = []int{0}
		var ids []graph.NodeID
		for c := range r.classes {
			ids = append(ids, r.published(1+c, a.ep.Part)...)
			r.smoothed.at = append(r.smoothed.at, len(ids))
		}
		if n := len(ids); n > 0 {
			r.smoothed.rows = gpu.Matrix{Buf: a.ep.Memory.Alloc(r.floatBytes(n), "smoothed rows"), Rows: n, Cols: r.width, LD: r.width}
			mixing[0] = max(mixing[0], r.floatBytes(min(n, r.pieceRows())))
			if r.coding.as == Int8 {
				if r.returned {
					vertices := verticesOf(a.Cuts.At(r.Layer))
					for k, pair := range ids {
						ids[k] = vertices[pair]
					}
				}
				r.smoothed.ids = a.ep.Memory.Upload("vertices of smoothed rows", ids)
			}
		}
		piece := r.floatBytes(min(r.pieceRows(), r.landing(a.ep.Part).mixed()))
		if r.coding.as != FP32 || r.dtype != gpu.FP32 {
			mixing[0] = max(mixing[0], piece)
		}
		if r.dtype != gpu.FP32 {
			mixing[1] = max(mixing[1], piece)
		}
	}
	for k, n := range mixing {
		a.ep.mixing[k] = a.scratch(n)
	}
}

// scratch takes memory for rows while they are mixed, if any.
func (a *attachment) scratch(n gpu.Bytes) gpu.Buffer {
	if n == 0 {
		return nil
	}
	return a.ep.Memory.Alloc(n, "rows to smooth")
}

// floatBytes is the size of n rows as FP32.
func (t *rowFormat) floatBytes(n int) gpu.Bytes { return 4 * gpu.Bytes(t.width) * gpu.Bytes(n) }

// smoothingNeed returns what smoothing takes of a part's device at most.
func smoothingNeed(training []*traffic, part int) gpu.Bytes {
	var state, pieces gpu.Bytes
	for _, l := range training {
		if l.gamma == 0 {
			continue
		}
		all, _ := l.sendRows(part)
		state += l.floatBytes(all) + 4*gpu.Bytes(all) + 2*slotAlign
		rows := max(all, len(l.readers[part].ids))
		pieces = max(pieces, 2*l.floatBytes(min(rows, l.pieceRows()))+2*slotAlign)
	}
	return state + pieces
}
