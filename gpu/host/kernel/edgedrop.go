package kernel

import (
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

// factors makes w.kept what the weights of segments are multiplied by, if d is on:
//
//	kept[e][h] = word (head + h) mod 4 of Philox(source, target, stream of head + h, epoch) ≥ threshold ? scale : 0
//
// Row 0 of the group is row lo of d; ids are those of columns.
func (w *attention) draw(list []gatSegment, idx, ids []int32, d *EdgeDrop, lo int) {
	if !d.On {
		return
	}
	w.kept = workers.Grown(&w.kept, gatWeights+gatLanes)
	for i := range list {
		seg := &list[i]
		row := uint32(d.Rows[lo+int(seg.row)])
		w.keepGo(w.kept[seg.at/4:][:int(seg.n)*w.stride], idx[seg.from:][:seg.n], ids, row, d)
	}
}

// keepGo is what draw makes of the entries idx of a row.
func (w *attention) keepGo(kept []float32, idx, ids []int32, row uint32, d *EdgeDrop) {
	for e, c := range idx {
		u, v := uint32(ids[c]), row
		if d.BySource {
			u, v = v, u
		}
		out := kept[e*w.stride:][:w.heads]
		var words [4]uint32
		for h := range out {
			k := d.head + h
			if h == 0 || k%4 == 0 {
				words = gpu.Philox([4]uint32{u, v, gpu.EdgeStream(d.Layer, k), d.Epoch}, d.Key)
			}
			out[h] = 0
			if words[k%4] >= d.Threshold {
				out[h] = d.Scale
			}
		}
	}
}

// drop multiplies a set of weights by w.kept, if d is on.
func (w *attention) drop(set int, list []gatSegment, d *EdgeDrop) {
	if !d.On {
		return
	}
	for i := range list {
		seg := &list[i]
		weight := w.weights(set, seg)
		kept := w.kept[seg.at/4:][:len(weight)]
		for e := 0; e < len(weight); e += w.stride {
			for h := e; h < e+w.heads; h++ {
				weight[h] *= kept[h]
			}
		}
	}
}
