package minibatch

import (
	"math"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/golden"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/model"
)

// PyTorch's gradients, of all training vertices in one step with all neighbours, on 1 and 3 parts, with ÂX and without, within the tolerance of
// docs/mathematics.md.
func TestGoldenGradients(t *testing.T) {
	cases, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		g, err := graph.Normalise(&graph.CSR{Indptr: c.Indptr, Indices: c.Indices, Cols: c.Vertices, Weights: c.Float32Weights()})
		if err != nil {
			t.Fatal(err)
		}
		d := c.Dims()
		m := named.Model{Kind: named.Kind(c.Kind), Layers: d.Layers, Hidden: d.Hidden, In: d.In, Out: d.Out, Heads: d.Heads, Alpha: c.Alpha, Theta: c.Theta, Residual: c.Residual, Activation: model.Op(c.Activation), Multi: c.Multi(), JK: c.JK(), Norm: c.Norm()}
		p := &learn.Problem{Graph: g, Labels: c.Labels, Targets: c.Targets, Classes: d.Out, Train: c.TrainMask}
		p.Features.Cols = d.In
		for _, x := range c.X.Data {
			p.Features.Dense = append(p.Features.Dense, float32(x))
		}
		if c.SelfLoops {
			p.Loops = graph.LoopsAdded
		}
		from := gnn.NewWeights(netOf(m))
		for _, x := range c.Params {
			for i, v := range x.Data {
				from.Tensor(x.Name).Data[i] = float32(v)
			}
		}
		for _, parts := range []int{1, 3} {
			got := gradient(t, p, Options{
				Training: Training{Model: netOf(m)},
				Devices:  devices(t, parts, host.Spec{}), Part: homes(p.Vertices(), parts), Sampling: Sampling{BatchSize: p.Vertices(), Fanout: slices.Repeat([]int{sample.All}, m.Layers)},
			}, 0, from)
			for _, want := range c.Grads {
				x := make([]float64, len(want.Data))
				for i, v := range got.Tensor(want.Name).Data {
					x[i] = float64(v)
				}
				if far := golden.Distance(x, want.Data); math.IsNaN(far) || far > golden.Tolerance(want.Data) {
					t.Errorf("%s, %d parts: gradient of %s differs by %.3g, tolerance %.3g", c.Name, parts, want.Name, far, golden.Tolerance(want.Data))
				}
			}
		}
	}
}
