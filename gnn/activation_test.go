package gnn

import (
	"fmt"
	"math"
	"testing"

	"capgnn/gpu"
	"capgnn/internal/named"
	"capgnn/model"
)

// Gradients through activations, with LayerNorm and without, dropout on, are the slope of the loss along each tensor's gradient: by central differences, which err by kinks
// between their two points and by the rounding of the loss, about 1e-8 ÷ step, so each is tried with several steps, then on either side alone, and the best must agree to 1 % of the tensor's
// gradient, or of a twentieth of the whole one where it cancels to less. Without LayerNorm rows are also stored in bf16: 2⁻⁹
// of each value, in three layers forward and backward, is less than 5 % of a tensor's norm. Other activations give other gradients.
func TestActivationGradients(t *testing.T) {
	for _, kind := range named.Kinds {
		if kind == named.SGC {
			continue
		}
		for _, noNorm := range []bool{false, true} {
			if noNorm && !kind.Norms() {
				continue
			}
			seen := map[string]model.Op{}
			for _, f := range model.Activations {
				c := named.Model{Kind: kind, Layers: 3, Hidden: 16, In: 12, Out: 5, Heads: 4, Dropout: 0.5, Seed: 7, Alpha: 0.3, Theta: 0.7, NoNorm: noNorm, Activation: f}
				u, w, p := newTask(netOf(c), 160, 5), NewWeights(netOf(c)), Plan{Input: Exchanged, Layers: make([]LayerPlan, 3)}
				w.Init(3)
				run := func(p Plan, w *Weights) result { return newDesk(t).whole(c, p, w, u, everyVertex(u), 5) }
				grad := run(p, w).grad
				for _, x := range w.Tensors {
					checkSlope(t, name(c, p)+": "+x.Name, norm(grad[x.Off:x.Off+len(x.Data)]), 0.05*norm(grad), func(step float64) float64 {
						v := w.Clone()
						for i := range x.Data {
							v.Flat[x.Off+i] += float32(step * float64(grad[x.Off+i]))
						}
						return run(p, v).loss
					})
				}
				if noNorm && kind.StoresBF16() {
					if netOf(c).Chooses(2) { // the layer that gathers rows stores them in bf16
						p.Layers[1], p.Layers[2] = aggregateIn, aggregateIn
					}
					p.Storage = gpu.BF16
					for i, d := range differences(w, grad, run(p, w).grad) {
						if !(d <= 0.05) {
							t.Errorf("%s: the gradient of %s is %g of its norm off", name(c, p), w.Tensors[i].Name, d)
						}
					}
				}
				key := fmt.Sprint(grad)
				if other, ok := seen[key]; ok {
					t.Errorf("%s has the gradient of %s", name(c, Plan{}), other)
				}
				seen[key] = f
			}
		}
	}
}

func norm(x []float32) float64 {
	square := 0.0
	for _, g := range x {
		square += float64(g) * float64(g)
	}
	return math.Sqrt(square)
}

// checkSlope compares the norm of a gradient with the slope along it of the loss at so many times it; least is what it is compared with at least.
func checkSlope(t *testing.T, name string, norm, least float64, loss func(times float64) float64) {
	t.Helper()
	if norm == 0 {
		return
	}
	best, tolerance := math.Inf(1), 0.01*max(norm, least)
	for _, x := range [][2]float64{{-1e-3, 1e-3}, {-3e-4, 3e-4}, {-3e-3, 3e-3}, {-1e-2, 1e-2}, {0, 1e-3}, {-1e-3, 0}} { // lengths of the move
		slope := (loss(x[1]/norm) - loss(x[0]/norm)) / (x[1] - x[0])
		if best = min(best, math.Abs(slope-norm)); best <= tolerance {
			return
		}
	}
	t.Errorf("%s: the slope of the loss is %.3g off, tolerance %.3g", name, best, tolerance)
}
