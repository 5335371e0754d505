package minibatch

import (
	"fmt"
	"math"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu/host"
	"capgnn/internal/interpreter/programs"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/model"
	"capgnn/pipeline"
)

// Programs that are drawn have the weights of full-batch training where every neighbour is sampled in one step, and
// the logits of a whole evaluation where they are made layer by layer in chunks.
func TestPrograms(t *testing.T) {
	n := 24
	if long.Wanted() {
		n = 500
	}
	for seed := range n {
		p, _ := task{directed: seed%2 == 0}.make(t, named.GCN)
		program, err := model.Parse([]byte(programs.Draw(uint64(seed), p.Features.Cols, p.Classes)))
		if err != nil {
			t.Fatal(err)
		}
		custom, err := gnn.NewModel(program)
		if err != nil {
			continue
		}
		m := custom.Config(false, 5)
		if m.SumsAll() { // steps refuse it
			continue
		}
		if m.AllRows() {
			for v := range p.Labels { // a step of all vertices has all rows
				p.Train[v], p.Labels[v] = true, max(0, p.Labels[v])
			}
		}
		from := gnn.NewWeights(m)
		from.Init(m.Seed)
		rule := gnn.Optimizer{Kind: gnn.SGD, LR: 1}
		fanout := make([]int, m.Layers)
		for l := range fanout {
			fanout[l] = sample.All
		}
		want, other := wholeWeights(t, p, m, 1), wholeWeights(t, p, m, 3)
		for _, parts := range []int{1, 3} {
			name := fmt.Sprintf("seed %d, %d parts", seed, parts)
			part := homes(p.Vertices(), parts)
			if m.AllRows() && parts > 1 { // rows of several parts count for each
				continue
			}
			got := trained(t, p, Options{
				Training: Training{Model: m, Optimizer: rule, Epochs: 1},
				Devices:  devices(t, parts, host.Spec{}), Part: part, Sampling: Sampling{BatchSize: p.Vertices(), Fanout: fanout},
			})
			for k, x := range want.Tensors {
				// Functions with kinks and norms of rows of nearly one value magnify roundings, those of another order
				// of sums, too.
				limit := max(1e-4*weightsApart(x.Data, from.Tensors[k].Data), 4*weightsApart(x.Data, other.Tensors[k].Data)) + 1e-7
				if d := weightsApart(got.Weights.Tensors[k].Data, x.Data); !(d <= limit) {
					t.Errorf("%s: %s differs by %.2e, limit %.2e", name, x.Name, d, limit)
				}
			}
			a, err := pipeline.Predict(t.Context(), p, pipeline.PredictOptions{Model: m, Weights: from, Devices: devices(t, 1, host.Spec{}), Part: make([]int32, p.Vertices())})
			if err != nil {
				t.Fatal(err)
			}
			b, err := pipeline.Predict(t.Context(), p, pipeline.PredictOptions{Model: m, Weights: from, Devices: devices(t, parts, host.Spec{}), Part: part, Chunks: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range a {
				if d := math.Abs(float64(a[i] - b[i])); !(d <= 1e-4*(1+math.Abs(float64(a[i])))) {
					t.Errorf("%s: logits in chunks differ by %g of %g", name, d, a[i])
					break
				}
			}
		}
	}
}

// wholeWeights returns the weights behind an epoch of full-batch training on so many parts.
func wholeWeights(t *testing.T, p *learn.Problem, m gnn.Config, parts int) *gnn.Weights {
	t.Helper()
	tr, err := pipeline.New(t.Context(), p, pipeline.Options{
		Training: pipeline.Training{Model: m, Optimizer: gnn.Optimizer{Kind: gnn.SGD, LR: 1}, Epochs: 1},
		Devices:  devices(t, parts, host.Spec{}), Part: homes(p.Vertices(), parts),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	r, err := tr.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.Weights
}

// weightsApart returns ‖a − b‖₂.
func weightsApart(a, b []float32) float64 {
	s := 0.0
	for i, x := range a {
		d := float64(x) - float64(b[i])
		s += d * d
	}
	return math.Sqrt(s)
}
