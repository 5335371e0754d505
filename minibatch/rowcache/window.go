package rowcache

import (
	"math"

	"capgnn/graph"
)

// window is the reads of the step that is decided and of the steps ahead of it that are known. Reads are numbered through the run, from 1. It takes 8 bytes per read, and 4
// per vertex.
type window struct {
	ids        []graph.NodeID // of reads, in a ring: read n is at n & mask
	gap        []uint32       // how many reads later the same row is read next; 0: not in the window
	mask       int64
	first, end int64    // the reads first to end-1 are in the window
	latest     []uint32 // by vertex: the number of its last read, but for what is above 32 bits, if the window has a read of it
}

func newWindow(vertices int) window {
	const room = 1 << 10
	return window{ids: make([]graph.NodeID, room), gap: make([]uint32, room), mask: room - 1, first: 1, end: 1, latest: make([]uint32, vertices)}
}

// known returns the number of the last read of v, false: the window has none. That the ring has v at the place of its last read tells: a row that
// is read has its last read there, and one that is not is nowhere.
func (w *window) known(v graph.NodeID) (int64, bool) {
	at := int64(w.latest[v]) & w.mask
	n := w.first + (at-w.first)&w.mask
	return n, n < w.end && w.ids[at] == v
}

// room makes room for so many reads.
func (w *window) room(reads int) {
	size := w.mask + 1
	for w.end-w.first+int64(reads) > size {
		size *= 2
	}
	if size == w.mask+1 {
		return
	}
	ids, gap := make([]graph.NodeID, size), make([]uint32, size)
	for n := w.first; n < w.end; n++ {
		ids[n&(size-1)], gap[n&(size-1)] = w.ids[n&w.mask], w.gap[n&w.mask]
	}
	w.ids, w.gap, w.mask = ids, gap, size-1
}

// add appends a read of v, for which there is room, and reports whether the window had one before it.
func (w *window) add(v graph.NodeID) (before bool) {
	m, before := w.known(v)
	if before {
		w.gap[m&w.mask] = uint32(w.end - m)
	}
	at := w.end & w.mask
	w.ids[at], w.gap[at], w.latest[v] = v, 0, uint32(w.end)
	w.end++
	return before
}

// then returns the number of the read of the same row behind read n. Of a row that is not read again in the window it is beyond all others, and the farther the
// longer ago read n is.
func (w *window) then(n int64) int64 {
	if g := w.gap[n&w.mask]; g > 0 {
		return n + int64(g)
	}
	return math.MaxInt64 - n
}
