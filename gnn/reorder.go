package gnn

import "slices"

// Reorder moves what lies along the axes of tensors that are longer in wider, the same model with one input or one
// output more: entry i becomes entry to[i]. So the model reads its features, or gives its outputs, in another order,
// and computes the same but for the order of sums. Such an axis has len(to) entries, or that many for each head.
// to nil: all stays.
func (w *Weights) Reorder(wider Config, to []int) {
	if to == nil {
		return
	}
	for n, t := range w.Tensors {
		inner := 1 // elements of an entry
		for axis, length := range slices.Backward(t.Shape) {
			if wider.tensors[n].Shape[axis] != length {
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
