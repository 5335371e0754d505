package gnn

import (
	"fmt"
	"testing"

	"capgnn/gpu"
)

// Gradients through activations are the same fused and in passes of their own, with LayerNorm and without, for rows of either type without: within 1e-5 of each tensor's norm, as a derivative
// that is made of an output from which dropout's factor was divided is off by a rounding. Other activations give others.
func TestActivationGradients(t *testing.T) {
	for _, kind := range Kinds {
		if kind == SGC {
			continue
		}
		for _, storage := range []gpu.DType{gpu.FP32, gpu.BF16} {
			for _, noNorm := range []bool{false, true} {
				if noNorm && !kind.Norms() || storage == gpu.BF16 && !(kind.StoresBF16() && noNorm) { // with LayerNorm, rows that are kept in bf16 are read again
					continue
				}
				seen := map[string]Activation{}
				for _, f := range Activations {
					c := Config{Kind: kind, Layers: 3, Hidden: 16, In: 12, Out: 5, Heads: 4, Dropout: 0.5, Seed: 7, Alpha: 0.3, Theta: 0.7, NoNorm: noNorm, Activation: f}
					u, w := newTask(c, 60, 5), NewWeights(c)
					w.Init(3)
					var grads [][]float32
					for _, fused := range []bool{true, false} {
						p := Plan{Input: Exchanged, Layers: make([]LayerPlan, 3), Fused: fused, Storage: storage}
						if c.Chooses(2) && storage == gpu.BF16 { // the layer that gathers rows stores them in bf16
							p.Layers[1], p.Layers[2] = aggregateIn, aggregateIn
						}
						grads = append(grads, newDesk(t).whole(c, p, w, u, everyVertex(u), 5).grad)
					}
					for i, d := range differences(w, grads[0], grads[1]) {
						if !(d <= 1e-5) {
							t.Errorf("%s: the gradient of %s is %g of its norm off where nothing is fused", name(c, Plan{Storage: storage}), w.Tensors[i].Name, d)
						}
					}
					key := fmt.Sprint(grads[0])
					if other, ok := seen[key]; ok {
						t.Errorf("%s has the gradient of %s", name(c, Plan{}), other)
					}
					seen[key] = f
				}
			}
		}
	}
}
