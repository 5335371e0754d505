package layered

import (
	"math/bits"
	"sync/atomic"

	"capgnn/graph"
)

// block is the full one-hop block of a chunk: its vertices with all their in-neighbours.
type block struct {
	ids     []graph.NodeID // the chunk's own vertices, then the others that it reads, both ascending
	rows    int            // how many are its own
	begin   []int64        // len rows+1
	indices []int32        // places in ids, in the order of the graph's rows
}

// blockRows is how many rows of a block one goroutine works on at once.
const blockRows = 1 << 8

// build makes the block of a chunk of a layer. Entries stay in the order of the graph's rows, so that a sum over
// them does not depend on the chunk. b's slices are used again.
//
// Method: a bit for every vertex that the chunk reads, with counts of the bits before it, in place of a table of
// all vertices: it is small enough to stay in the processor's caches, and sources come out by id, so that their
// rows are read in the order of memory.
func (x *indexer) build(need *needed, layer int, own []graph.NodeID, b *block) {
	b.rows = len(own)
	b.begin = resized(b.begin, len(own)+1)
	b.begin[0] = 0
	for _, v := range own {
		x.words[v>>6].rows |= 1 << (v & 63)
	}
	graph.EachBlock(len(own), blockRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			before, behind, loop := need.neighbours(layer, own[i])
			x.mark(before)
			x.mark(behind)
			b.begin[i+1] = int64(len(before) + len(behind))
			if loop {
				b.begin[i+1]++
			}
		}
	})
	for i := range own {
		b.begin[i+1] += b.begin[i]
	}
	b.ids = x.number(append(b.ids[:0], own...))
	b.indices = resized(b.indices, int(b.begin[len(own)]))
	graph.EachBlock(len(own), blockRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			before, behind, loop := need.neighbours(layer, own[i])
			out := b.indices[b.begin[i]:b.begin[i+1]]
			for k, u := range before {
				out[k] = x.of(u)
			}
			out = out[len(before):]
			if loop {
				out[0] = int32(i)
				out = out[1:]
			}
			for k, u := range behind {
				out[k] = x.of(u)
			}
		}
	})
	clear(x.words)
}

// mark notes vertices that are read and not the chunk's own.
func (x *indexer) mark(ids []graph.NodeID) {
	for _, u := range ids {
		w, bit := &x.words[u>>6], uint64(1)<<(u&63)
		if w.rows&bit == 0 && atomic.LoadUint64(&w.others)&bit == 0 {
			atomic.OrUint64(&w.others, bit)
		}
	}
}

// number counts the vertices before each word, and appends those that are read to ids, which holds the chunk's own.
func (x *indexer) number(ids []graph.NodeID) []graph.NodeID {
	rows, others := int32(0), int32(len(ids))
	for i := range x.words {
		w := &x.words[i]
		w.rowsBefore, w.othersBefore = rows, others
		rows += int32(bits.OnesCount64(w.rows))
		others += int32(bits.OnesCount64(w.others))
		for left := w.others; left != 0; left &= left - 1 {
			ids = append(ids, graph.NodeID(i<<6+bits.TrailingZeros64(left)))
		}
	}
	return ids
}

// resized returns s with n elements, whatever they hold.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
