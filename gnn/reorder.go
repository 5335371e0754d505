package gnn

import "slices"

// Reorder has the model of cfg, whose weights these are, read and give what it did in another order: input i becomes
// input inputs[i], output k becomes output outputs[k]. nil: they stay. What the model computes stays but for the order
// of sums.
func (w *Weights) Reorder(cfg Config, inputs, outputs []int) {
	if grown := cfg.custom().grown; grown != nil {
		w.reorder(grown(1, 0), inputs)
		w.reorder(grown(0, 1), outputs)
	}
}

// reorder moves what lies along the axes that are longer in grown, the layout of a model with one input or output more.
// Such an axis has len(to) entries, or that many for each head.
func (w *Weights) reorder(grown []Tensor, to []int) {
	if to == nil {
		return
	}
	for n, t := range w.Tensors {
		inner := 1 // elements of an entry
		for axis, length := range slices.Backward(t.Shape) {
			if grown[n].Shape[axis] != length {
				was := slices.Clone(t.Data)
				for at := 0; at < len(was); at += len(to) * inner {
					for i, k := range to {
						copy(t.Data[at+k*inner:at+(k+1)*inner], was[at+i*inner:])
					}
				}
			}
			inner *= length
		}
	}
}
