package kernel

import (
	"unsafe"

	"capgnn/gpu"
	"capgnn/gpu/host/workers"
)

// EdgeDrop is a resolved gpu.EdgeDropout.
type EdgeDrop struct {
	On        bool
	Key       [2]uint32
	Layer     uint32
	Epoch     uint32
	Threshold uint32
	Scale     float32 // 1/(1-P)
	BySource  bool    // rows are the sources of edges, columns their targets
	Rows      []int32 // original ids

	head int // the first that is computed
}

// edgeDraws is the room of a batch for which weights of edges are dropped.
type edgeDraws struct {
	kept []float32 // what weights are multiplied by, where they are
	bits []uint32  // 4 keep bits of each entry, one segment behind the other
}

// draw makes what the weights of segments are multiplied by, if d is on:
//
//	kept[e][h] = word (head + h) mod 4 of Philox(source, target, stream of head + h, epoch) ≥ threshold ? scale : 0
//
// Row 0 of the group is row lo of d; ids are those of columns. Sets 2 and 3 of weights are used up.
func (w *attention) draw(list []gatSegment, idx, ids []int32, d *EdgeDrop, lo int) {
	if !d.On {
		return
	}
	r := &w.draws
	workers.Grown(&r.kept, gatWeights+gatLanes)
	workers.Grown(&r.bits, gatWeights/8+2)
	words := func(set int) []uint32 {
		return unsafe.Slice((*uint32)(unsafe.Pointer(&w.weight[set][0])), len(w.weight[set]))
	}
	sources, targets := words(2), words(3)
	rows, columns := targets, sources
	if d.BySource {
		rows, columns = columns, rows
	}
	n := 0
	for i := range list {
		seg := &list[i]
		row := uint32(d.Rows[lo+int(seg.row)])
		for _, c := range idx[seg.from:][:seg.n] {
			rows[n], columns[n] = row, uint32(ids[c])
			n++
		}
	}
	var four [16][4]float32 // by their bits
	for b := range four {
		for j := range four[b] {
			if b>>j&1 != 0 {
				four[b][j] = d.Scale
			}
		}
	}
	for h := 0; h < w.heads; {
		first := (d.head + h) % 4
		heads := min(4-first, w.heads-h)
		edgeBits(r.bits, n, sources, targets, gpu.EdgeStream(d.Layer, d.head+h), d.Epoch, d.Key, d.Threshold)
		e := 0
		for i := range list {
			seg := &list[i]
			kept := r.kept[int(seg.at/4)+h:]
			for k := range int(seg.n) {
				bits := r.bits[e/8] >> (4 * (e % 8)) & 15
				e++
				if to := kept[k*w.stride:]; heads == 4 {
					*(*[4]float32)(to) = four[bits]
				} else {
					copy(to[:heads], four[bits][first:])
				}
			}
		}
		h += heads
	}
}

// edgeBitsGo sets bits 4e to 4e + 3 of dst to whether word 0 to 3 of Philox(u[e], v[e], stream, epoch) is at least
// threshold, for the
// first n entries. It writes, and reads of u and v, whole vectors of them.
func edgeBitsGo(dst []uint32, n int, u, v []uint32, stream, epoch uint32, key [2]uint32, threshold uint32) {
	clear(dst[:(n+7)/8])
	for e := range n {
		for j, word := range gpu.Philox([4]uint32{u[e], v[e], stream, epoch}, key) {
			if word >= threshold {
				dst[e/8] |= 1 << (4*(e%8) + j)
			}
		}
	}
}

// drop multiplies a set of weights by what draw made, if d is on.
func (w *attention) drop(set int, list []gatSegment, d *EdgeDrop) {
	if !d.On {
		return
	}
	for i := range list {
		seg := &list[i]
		weight := w.weights(set, seg)
		kept := w.draws.kept[seg.at/4:][:len(weight)]
		for e := 0; e < len(weight); e += w.stride {
			for h := e; h < e+w.heads; h++ {
				weight[h] *= kept[h]
			}
		}
	}
}
