package rowcache

import "capgnn/graph"

// window is the reads of the step that is decided and of the steps ahead of it that are known. Reads are numbered through the run, from 1. It takes 8 bytes per
// read.
type window struct {
	ids        []graph.NodeID // of reads, in a ring: read n is at n & mask
	gap        []uint32       // how many reads later the same row is read next; 0: not in the window
	mask       int64
	first, end int64 // the reads first to end-1 are in the window
}

func newWindow() window {
	const room = 1 << 10
	return window{ids: make([]graph.NodeID, room), gap: make([]uint32, room), mask: room - 1, first: 1, end: 1}
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

// add appends a read of v, for which there is room. Read before, if it is in the window, is the one of v before this one.
func (w *window) add(v graph.NodeID, before int64) {
	if before >= w.first {
		w.gap[before&w.mask] = uint32(w.end - before)
	}
	at := w.end & w.mask
	w.ids[at], w.gap[at] = v, 0
	w.end++
}

// then returns the number of the read of the same row behind read n; false: it is not in the window.
func (w *window) then(n int64) (int64, bool) {
	g := w.gap[n&w.mask]
	return n + int64(g), g > 0
}

// begins reports whether the rows are the first reads of the window.
func (w *window) begins(rows []graph.NodeID) bool {
	if w.end-w.first < int64(len(rows)) {
		return false
	}
	for i, v := range rows {
		if w.ids[(w.first+int64(i))&w.mask] != v {
			return false
		}
	}
	return true
}
