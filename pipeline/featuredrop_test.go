package pipeline

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/internal/learn"
	"capgnn/internal/named"
)

// dropping are the models that can drop features.
var dropping = slices.DeleteFunc(slices.Clone(named.Kinds), func(k named.Kind) bool { return k == named.SGC })

// sparseTask is smallTask with sparse features: one vertex in four has none, and no vertex has the last one.
func sparseTask(t *testing.T, kind named.Kind, p float64) (*learn.Problem, named.Model, gnn.StateDict) {
	t.Helper()
	q, m, init := smallTask(t, kind, false, false, func(m *named.Model) { m.Dropout, m.DropFeatures, m.AttentionDropout = p, true, 0 })
	for i := range q.Features.Dense {
		if v, j := i/m.In, i%m.In; v%4 == 1 || j == m.In-1 || (3*v+j)%2 == 0 {
			q.Features.Dense[i] = 0
		}
	}
	q.Features = sparsified(q.Features)
	return q, m, init
}

// Gradients behind sparse features that were dropped, of any number of parts and of isolated ones: every tensor in
// float64.
func TestDroppedSparseFeatures(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares with sums in float64, which say nothing of races")
	}
	for i, kind := range dropping {
		p, m, init := sparseTask(t, kind, []float64{0.3, 0.9}[i%2])
		w := newRefWeights(weightsOf(t, m, init))
		r := newRefModel(p, m, make([]int32, p.Vertices()), nil)
		wantLoss, want := r.gradient(w, 0)
		for _, parts := range []int{1, 3} {
			got, loss := gradients(t, newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) { o.Init = init }))
			if !(math.Abs(loss-wantLoss) <= 1e-5) {
				t.Errorf("%s, %d parts: loss %v, want %v", kind, parts, loss, wantLoss)
			}
			for _, x := range got.Tensors {
				ref := want[x.Off:][:len(x.Data)]
				if d := differs(x.Data, ref); !(d <= 2e-5*max(norm(ref), 1e-3*norm(want))) {
					t.Errorf("%s, %d parts: gradient of %s differs by %.3g of %.3g", kind, parts, x.Name, d, norm(ref))
				}
			}
		}
		compareDefinition(t, p, m, init, Isolated{AllLayers: true}, 3, 1+i%2)
	}
}

// Which features are dropped depends neither on how many parts there are nor on where in them rows lie.
func TestDroppedFeaturesAreEverywhereTheSame(t *testing.T) {
	t.Parallel()
	for _, kind := range dropping {
		for _, sparse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/sparse=%t", kind, sparse), func(t *testing.T) {
				p, m := task{share: 0.3, sparse: sparse}.make(t, kind)
				m.DropFeatures = true
				n := p.Vertices()
				backwards := make([]int32, n)
				for v := range backwards {
					backwards[v] = int32(n - 1 - v)
				}
				one := func(parts int, edit func(*Options)) (*gnn.Weights, float64) {
					return gradients(t, newTrainer(t, p, m, cpus(t, parts), scatterParts(n, parts), edit))
				}
				want, loss := one(1, nil)
				for _, parts := range []int{1, 3} {
					got, l := one(parts, func(o *Options) { o.Rank = backwards })
					d, all := distance(got.Flat, want.Flat)
					if !(d <= 2e-5*all) || math.Abs(l-loss) > 1e-5 {
						t.Errorf("%d parts: gradients differ by %.3g of %.3g, losses are %v and %v", parts, d, all, l, loss)
					}
				}
				m.Dropout = 0
				whole, _ := one(1, nil)
				if d, all := distance(whole.Flat, want.Flat); d < 0.01*all {
					t.Error("nothing is dropped")
				}
			})
		}
	}
}
