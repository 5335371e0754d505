package gnn

import (
	"fmt"
	"math"
	"testing"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/golden"
	"capgnn/internal/named"
	"capgnn/model"
)

// The golden cases without edge weights through blocks with all neighbours: loss and gradients with the training vertices as roots, logits with all
// vertices, and the losses and weights of five Adam steps, in every order of operations.
func TestGoldenThroughBlocks(t *testing.T) {
	cases, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 49 {
		t.Fatalf("%d golden cases, want 49", len(cases))
	}
	for _, g := range cases {
		if g.Weights != nil { // entries are handed in with values
			continue
		}
		d := g.Dims()
		c := named.Model{Kind: named.Kind(g.Kind), Layers: d.Layers, Hidden: d.Hidden, In: d.In, Out: d.Out, Heads: d.Heads, Alpha: g.Alpha, Theta: g.Theta, Residual: g.Residual, Activation: model.Op(g.Activation), Multi: g.Multi(), JK: g.JK(), Norm: g.Norm()}
		u := goldenTask(t, &g, netOf(c))
		w := NewWeights(netOf(c))
		for _, x := range g.Params {
			for i, v := range x.Data {
				w.Tensor(x.Name).Data[i] = float32(v)
			}
		}
		blockPlans(c, func(_ named.Model, p Plan) {
			hops := c.Layers
			if p.Input == Precomputed {
				hops--
			}
			desk := newDesk(t)
			s := desk.step(netOf(c), p, u, u.stack(u.roots, hops, everyone))
			one := desk.train(c, p, w, s)
			got := one.run(u, s, nil, 0)
			near(t, name(c, p)+" loss", []float32{float32(got.loss)}, []float64{g.Loss})
			for _, x := range g.Grads {
				off := w.Tensor(x.Name).Off
				near(t, name(c, p)+" gradient of "+x.Name, got.grad[off:off+len(x.Data)], x.Data)
			}
			moments := [2]gpu.Vec{desk.vec(make([]float32, len(w.Flat))), desk.vec(make([]float32, len(w.Flat)))}
			for i, loss := range g.AdamLosses {
				near(t, fmt.Sprintf("%s loss %d", name(c, p), i), []float32{float32(one.run(u, s, nil, i).loss)}, []float64{loss})
				desk.q.Adam(gpu.AdamArgs{Param: one.params.Flat, Grad: one.grads.Flat, M: moments[0], V: moments[1],
					LR: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: i + 1})
			}
			flat := make([]float32, len(w.Flat))
			desk.q.Download(hostmem.Bytes(flat), one.params.Flat.Buf, 0)
			if err := desk.q.Sync(); err != nil {
				t.Fatal(err)
			}
			for _, x := range g.Adam5 {
				off := w.Tensor(x.Name).Off
				near(t, name(c, p)+" "+x.Name+" after five steps", flat[off:off+len(x.Data)], x.Data)
			}
			all := make([]int32, g.Vertices)
			for v := range all {
				all[v] = int32(len(all) - 1 - v)
			}
			s = desk.step(netOf(c), p, u, u.stack(all, hops, everyone))
			logits := desk.train(c, p, w, s).run(u, s, nil, 0).logits
			near(t, name(c, p)+" logits", rowsOf(logits, all, c.Out), g.Logits.Data)
		})
	}
}

func goldenTask(t *testing.T, g *golden.Case, c Config) *task {
	t.Helper()
	n, err := graph.Normalise(&graph.CSR{Indptr: g.Indptr, Indices: g.Indices, Cols: g.Vertices})
	if err != nil {
		t.Fatal(err)
	}
	u := &task{g: n, labels: g.Labels, targets: g.Targets, loops: g.SelfLoops}
	if u.loops {
		u.g = n.WithLoops()
	}
	for _, x := range g.X.Data {
		u.x = append(u.x, float32(x))
	}
	for v, in := range g.TrainMask {
		if in {
			u.roots = append(u.roots, int32(v))
		}
	}
	return u
}

// near checks the tolerance of docs/mathematics.md.
func near(t *testing.T, name string, got []float32, want []float64) {
	t.Helper()
	x := make([]float64, len(got))
	for i, v := range got {
		x[i] = float64(v)
	}
	if d := golden.Distance(x, want); math.IsNaN(d) || d > golden.Tolerance(want) {
		t.Errorf("%s: differs by %.3g, tolerance %.3g", name, d, golden.Tolerance(want))
	}
}
