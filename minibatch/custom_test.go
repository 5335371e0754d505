package minibatch

import (
	"fmt"
	"math"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu/host"
	"capgnn/internal/interpreter"
	"capgnn/internal/long"
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
		p, _ := task{directed: seed%2 == 0}.make(t, gnn.GCN)
		program, err := model.Parse([]byte(interpreter.Draw(uint64(seed), p.Features.Cols, p.Classes)))
		if err != nil {
			t.Fatal(err)
		}
		custom, err := gnn.NewCustom(program)
		if err != nil {
			continue
		}
		m := custom.Config(false, 5)
		from := gnn.NewWeights(m)
		from.Init(m.Seed)
		rule := gnn.Optimizer{Kind: gnn.SGD, LR: 1}
		fanout := make([]int, m.Layers)
		for l := range fanout {
			fanout[l] = sample.All
		}
		tr, err := pipeline.New(t.Context(), p, pipeline.Options{Model: m, Optimizer: rule, Epochs: 1, Devices: devices(t, 1, host.Spec{}), Part: make([]int32, p.Vertices())})
		if err != nil {
			t.Fatal(err)
		}
		want, err := tr.Run(t.Context())
		tr.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, parts := range []int{1, 3} {
			name := fmt.Sprintf("seed %d, %d parts", seed, parts)
			part := homes(p.Vertices(), parts)
			got := trained(t, p, Options{Model: m, Optimizer: rule, Epochs: 1, Devices: devices(t, parts, host.Spec{}), Part: part,
				Sampling: Sampling{BatchSize: p.Vertices(), Fanout: fanout}})
			closeTo(t, name, got.Weights, want.Weights, from, 1e-4)
			whole, err := pipeline.Predict(t.Context(), p, pipeline.PredictOptions{Model: m, Weights: from, Devices: devices(t, 1, host.Spec{}), Part: make([]int32, p.Vertices())})
			if err != nil {
				t.Fatal(err)
			}
			chunks, err := Predict(t.Context(), p, PredictOptions{Model: m, Weights: from, Devices: devices(t, parts, host.Spec{}), Part: part})
			if err != nil {
				t.Fatal(err)
			}
			a, b := whole.Data().([]float32), chunks.Data().([]float32)
			for i := range a {
				if d := math.Abs(float64(a[i] - b[i])); !(d <= 1e-4*(1+math.Abs(float64(a[i])))) {
					t.Errorf("%s: logits in chunks differ by %g of %g", name, d, a[i])
					break
				}
			}
		}
	}
}
