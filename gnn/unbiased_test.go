package gnn

import (
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/internal/named"
)

// The sum over sampled neighbours times n/k is, on average over many draws, the sum over all: of named.GCN, GraphSAGE and named.GIN one layer,
// whose logits are linear in it (named.GIN's first bias holds every ReLU open). z is how far the mean of the draws lies from the whole,
// in standard errors, by root and class; of 100 values of a normal distribution one is beyond 4.5 in 1,500 tests. Without n/k
// it is far off.
func TestSampledSumsAreUnbiased(t *testing.T) {
	for _, kind := range []named.Kind{named.GCN, named.SAGE, named.GIN} {
		c := named.Model{Kind: kind, Layers: 1, In: 12, Out: 5}
		u := newTask(netOf(c), 160, 3)
		w := NewWeights(netOf(c))
		w.Init(3)
		if kind == named.GIN {
			for i := range w.Tensor("convs.0.nn.lins.0.bias").Data {
				w.Tensor("convs.0.nn.lins.0.bias").Data[i] = 300
			}
		}
		if z := worstZ(t, c, u, w, u.some(3, rand.New(rand.NewPCG(1, 2)))); !(z < 4.5) {
			t.Errorf("%s: the mean of the draws is %.1f standard errors off", kind, z)
		}
		forgets := u.some(3, rand.New(rand.NewPCG(1, 2)))
		z := worstZ(t, c, u, w, func(hop int, v int32, neighbours []int32) ([]int32, float32) {
			kept, _ := forgets(hop, v, neighbours)
			return kept, 1
		})
		if z < 20 {
			t.Errorf("%s: without n/k the mean is only %.1f standard errors off", kind, z)
		}
	}
}

func worstZ(t *testing.T, c named.Model, u *task, w *Weights, keep draw) float64 {
	t.Helper()
	const draws = 600
	d := newDesk(t)
	p := Plan{Input: Exchanged, Layers: []LayerPlan{aggregateIn}}
	s := d.step(netOf(c), p, u, u.stack(u.roots, 1, everyone))
	one := d.train(c, p, w, s)
	want := one.run(u, s, nil, 0).logits
	sum, squares := make([]float64, len(want)), make([]float64, len(want))
	for range draws {
		s := d.step(netOf(c), p, u, u.stack(u.roots, 1, keep))
		if err := one.pass.Bind(s.layers, s.in); err != nil {
			t.Fatal(err)
		}
		for i, x := range one.run(u, s, nil, 0).logits {
			off := float64(x) - float64(want[i])
			sum[i] += off
			squares[i] += off * off
		}
	}
	worst, sampled := 0.0, 0
	for i := range want {
		mean := sum[i] / draws
		spread := math.Sqrt(squares[i]/draws - mean*mean)
		if rounding := 1e-5 * (1 + math.Abs(float64(want[i]))); spread < rounding { // all neighbours are kept
			if math.Abs(mean) > rounding {
				worst = math.Inf(1)
			}
			continue
		}
		sampled++
		worst = max(worst, math.Abs(mean)/(spread/math.Sqrt(draws)))
	}
	if sampled < 20 {
		t.Errorf("%s: %d values of sampled neighbours, want 20 or more", c.Kind, sampled)
	}
	return worst
}
