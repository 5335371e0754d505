package pipeline

import (
	"context"
	"fmt"
	"math"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/golden"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/model"
)

// cpus opens n one-thread CPU devices whose fresh memory is NaN: a row that is read without having been written or copied
// shows in every result.
func cpus(t testing.TB, n int) []gpu.Device {
	t.Helper()
	out := make([]gpu.Device, n)
	for i := range out {
		d, err := host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: 1, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, d)
		out[i] = d
	}
	return out
}

// scatterParts assigns vertices to parts in a fixed irregular way, no part empty if there are enough vertices.
func scatterParts(n, parts int) []int32 {
	part := make([]int32, n)
	for v := range part {
		part[v] = int32((v*7 + v/3) % parts)
	}
	return part
}

func goldenProblem(t *testing.T, c *golden.Case) (*learn.Problem, named.Model, gnn.StateDict) {
	t.Helper()
	g := &graph.CSR{Indptr: c.Indptr, Indices: c.Indices, Cols: c.Vertices, Weights: c.Float32Weights()}
	g, err := graph.Normalise(g)
	if err != nil {
		t.Fatal(err)
	}
	if c.SelfLoops {
		g = g.WithLoops()
	}
	d := c.Dims()
	p := &learn.Problem{Graph: g, Features: learn.Features{Cols: d.In, Dense: float32s(c.X.Data)}, Labels: c.Labels, Targets: c.Targets,
		Classes: d.Out, Train: c.TrainMask}
	init := gnn.StateDict{}
	for _, w := range c.Params {
		init[w.Name] = &gnn.Tensor{Shape: w.Shape, Data: float32s(w.Data)}
	}
	return p, named.Model{Kind: named.Kind(c.Kind), Layers: d.Layers, Hidden: d.Hidden, In: d.In, Out: d.Out, Heads: d.Heads,
		Alpha: c.Alpha, Theta: c.Theta, Residual: c.Residual, Activation: model.Op(c.Activation), Multi: c.Multi(), JK: c.JK(), Norm: c.Norm()}, init
}

func float32s(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// near checks the tolerance of docs/mathematics.md: ‖got − want‖₂ ≤ 1e-4·‖want‖₂ + 1e-7·√size.
func near(t *testing.T, name string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", name, len(got), len(want))
		return
	}
	var diff, norm float64
	for i := range want {
		d := float64(got[i]) - want[i]
		diff += d * d
		norm += want[i] * want[i]
	}
	if tol := 1e-4*math.Sqrt(norm) + 1e-7*math.Sqrt(float64(len(want))); !(math.Sqrt(diff) <= tol) {
		t.Errorf("%s: ‖got-want‖ = %.3g, tolerance %.3g", name, math.Sqrt(diff), tol)
	}
}

// The golden cases on 1, 2, 3 and 5 devices.
func TestGolden(t *testing.T) {
	t.Parallel()
	cases, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 49 {
		t.Fatalf("%d golden cases, want 49", len(cases))
	}
	for _, c := range cases {
		for _, parts := range []int{1, 2, 3, 5} {
			if parts != 3 && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", c.Name, parts), func(t *testing.T) { testGolden(t, &c, cpus(t, parts)) })
		}
	}
}

// testGolden compares logits, loss, every gradient and five Adam steps of a case cut for these devices.
func testGolden(t *testing.T, c *golden.Case, devices []gpu.Device) {
	p, model, init := goldenProblem(t, c)
	o := Options{
		Training: Training{Model: netOf(model), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01},
			Epochs: 5, Init: init},
		Devices: devices, Part: scatterParts(p.Vertices(), len(devices)),
	}
	var losses []float64
	o.OnEpoch = func(e EpochStats) error { losses = append(losses, e.Loss); return nil }
	tr, err := New(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if _, err := tr.evaluate(); err != nil {
		t.Fatal(err)
	}
	near(t, "logits", logitsOf(t, tr), c.Logits.Data)
	grads, loss := gradients(t, tr)
	if math.Abs(loss-c.Loss) > 1e-4*c.Loss {
		t.Errorf("loss %v, want %v", loss, c.Loss)
	}
	for _, g := range c.Grads {
		near(t, "gradient of "+g.Name, grads.Tensor(g.Name).Data, g.Data)
	}
	r, err := tr.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Adam losses", float32s(losses), c.AdamLosses)
	for _, w := range c.Adam5 {
		near(t, w.Name+" after five steps", r.Weights.Tensor(w.Name).Data, w.Data)
	}
}

// logitsOf returns the logits of the last evaluation by original vertex id, if there was no epoch since.
func logitsOf(t *testing.T, tr *Trainer) []float32 {
	t.Helper()
	out := make([]float32, tr.p.Vertices()*tr.p.Classes)
	for _, w := range tr.workers {
		err := w.emit(context.Background(), w.logits, func(ids []graph.NodeID, rows []float32) error {
			for i, v := range ids {
				copy(out[int(v)*tr.p.Classes:][:tr.p.Classes], rows[i*tr.p.Classes:])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
