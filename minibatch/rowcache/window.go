package rowcache

import "capgnn/graph"

// window is the reads of the step that is decided and of the steps ahead of it that are known, some of them marked. Reads are numbered through the run, from 1. It takes
// 8 bytes per read.
type window struct {
	ids        []graph.NodeID // of reads, in a ring: read n is at n & mask
	gap        []uint32       // how many reads later the same row is read next; 0: not in the window
	mask       int64
	marked     marks // places of reads
	first, end int64 // the reads first to end-1 are in the window
}

func newWindow() window {
	const room = 1 << 10
	return window{ids: make([]graph.NodeID, room), gap: make([]uint32, room), mask: room - 1, marked: newMarks(room), first: 1, end: 1}
}

func (w *window) room(reads int) {
	size := w.mask + 1
	for w.end-w.first+int64(reads) > size {
		size *= 2
	}
	if size == w.mask+1 {
		return
	}
	old := *w
	w.ids, w.gap, w.mask, w.marked = make([]graph.NodeID, size), make([]uint32, size), size-1, newMarks(size)
	for n := w.first; n < w.end; n++ {
		w.ids[n&w.mask], w.gap[n&w.mask] = old.ids[n&old.mask], old.gap[n&old.mask]
		if old.marked.has(n & old.mask) {
			w.mark(n)
		}
	}
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

// mark and unmark mark a read, or no longer.
func (w *window) mark(n int64)   { w.marked.add(n & w.mask) }
func (w *window) unmark(n int64) { w.marked.remove(n & w.mask) }

// last returns the last read that is marked, 0: none is.
func (w *window) last() int64 {
	end := w.end & w.mask
	place := w.marked.below(end)
	if place < 0 {
		place = w.marked.below(w.mask + 1)
	}
	if place < 0 {
		return 0
	}
	return w.end - (end-place-1)&w.mask - 1
}

// id returns the row that read n reads.
func (w *window) id(n int64) graph.NodeID { return w.ids[n&w.mask] }

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
