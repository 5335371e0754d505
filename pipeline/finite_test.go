package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gnn"
	"capgnn/hostmem"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Finite differences of the loss along random directions of every weight tensor, across 3 parts with 5 % training vertices,
// dropout on. The central difference errs by the ReLU kinks between its two points, which grow with the step h, and by the
// rounding of the loss, about 3e-9/h (float32 logits, a few hundred of them averaged in float64: 1500 vertices); so each direction is tried
// at several h, none below 1e-4, then on either side alone, as a kink very near lies on one, and the best must agree to 1 % of the derivative's scale,
// ‖g‖·‖d‖/√size, plus the rounding at the smallest h, 3e-5·‖d‖.
func TestFiniteDifferences(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		for name, k := range map[string]task{
			"directed":   {directed: true, share: 0.05, vertices: manyVertices},
			"undirected": {share: 0.05, multi: true, sparse: true, vertices: manyVertices},
		} {
			if testing.Short() && k.directed {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				p, m := k.make(t, kind)
				tr := newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), func(o *Options) {
					if k.directed { // in the order of stale rows; in the first epoch all are fresh
						o.Cache = halo.Options{Policy: jaca.JACA, Staleness: 3, Layers: allLayers(m), Host: hostmem.LockOptions{Heap: true}}
					}
				})
				r := rand.New(rand.NewPCG(8, 8))
				w := tr.Weights.Clone()
				for i := range w.Tensors {
					for j := range w.Tensors[i].Data {
						w.Tensors[i].Data[j] += float32(0.05 * r.NormFloat64()) // no symmetric starting point
					}
				}
				g := tr.gradientAt(t, w)
				for i := range w.Tensors {
					tr.checkDirection(t, r, w, i, g.Tensors[i].Data)
				}
			})
		}
	}
}

// allLayers lists those that may read stale rows.
func allLayers(m named.Model) []int {
	var layers []int
	for l := 1; l < m.Layers; l++ {
		layers = append(layers, l)
	}
	return layers
}

func (t *Trainer) gradientAt(tb testing.TB, w *gnn.Weights) *gnn.Weights {
	g, _ := t.lossAt(tb, w)
	return g
}

func (t *Trainer) lossAt(tb testing.TB, weights *gnn.Weights) (*gnn.Weights, float64) {
	tb.Helper()
	for _, w := range t.workers {
		setWeights(tb, w, 0, weights.Flat)
	}
	return gradients(tb, t)
}

func (t *Trainer) checkDirection(tb testing.TB, r *rand.Rand, w *gnn.Weights, tensor int, grad []float32) {
	tb.Helper()
	dir := make([]float64, len(grad))
	want, gg, dd := 0.0, 0.0, 0.0
	for j := range dir {
		dir[j] = r.NormFloat64()
		want += dir[j] * float64(grad[j])
		gg += float64(grad[j]) * float64(grad[j])
		dd += dir[j] * dir[j]
	}
	scale := math.Sqrt(gg * dd / float64(len(dir)))
	between := func(lo, hi float64) float64 {
		var loss [2]float64
		for s, h := range []float64{lo, hi} {
			v := w.Clone()
			for j, x := range dir {
				v.Tensors[tensor].Data[j] += float32(h * x / math.Sqrt(dd))
			}
			_, loss[s] = t.lossAt(tb, v)
		}
		return (loss[1] - loss[0]) / (hi - lo) * math.Sqrt(dd)
	}
	best, tol := math.Inf(1), 0.01*max(scale, math.Abs(want))+3e-5*math.Sqrt(dd)
	for _, x := range [][2]float64{{-0.001, 0.001}, {-0.0003, 0.0003}, {-0.003, 0.003}, {-0.0001, 0.0001}, {0, 0.0002}, {-0.0002, 0}} {
		if best = min(best, math.Abs(between(x[0], x[1])-want)); best <= tol {
			return
		}
	}
	if !(best <= tol) {
		tb.Errorf("%s: derivative differs from finite differences by %.3g, tolerance %.3g (derivative %.3g)", w.Tensors[tensor].Name, best, tol, want)
	}
}
