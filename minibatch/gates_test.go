package minibatch

import (
	"fmt"
	"math"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
)

// The gradient of a step does not depend on how its roots are shared: with global roots, from the same weights (steps 0 and 20, with CAPGNN_LONG=1
// also 200), every tensor of 2, 3 and 5 parts, of 3 with unequal shares too, is that of one part within 2e-5 of its norm, wherever roots are computed.
func TestGradientOfPartsIsThatOfOne(t *testing.T) {
	for j, kind := range kinds(t) {
		for i, k := range []task{{}, {directed: true, multi: true}, {sparse: true}} {
			if (testing.Short() || !long.Wanted()) && i != j%3 {
				continue
			}
			p, m := k.make(t, kind)
			m.Dropout = 0.5
			fanout := [][]int{{4, 3, sample.All}, {3, sample.All, 2}, {4, 3, 2}}[i]
			o := Options{
				Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.001}, Epochs: 30},
				Sampling: Sampling{BatchSize: 16, Fanout: fanout},
			}
			for _, step := range []int{0, 20, 200} {
				if step == 200 && !long.Wanted() {
					continue
				}
				w := weightsAt(t, p, o, step)
				want := gradientAt(t, p, o, w, step, 1, nil)
				for _, parts := range []int{2, 3, 5} {
					for _, shares := range [][]float64{nil, []float64{5, 0, 1, 2, 3}[:parts]} {
						if shares != nil && parts != 3 {
							continue
						}
						for _, place := range places {
							kindOfRoots{place: place}.set(&o.Sampling)
							got := gradientAt(t, p, o, w, step, parts, shares)
							near(t, fmt.Sprintf("%s %+v, step %d, %d parts, shares %v, %v", kind, k, step, parts, shares, place), got, want)
						}
						kindOfRoots{}.set(&o.Sampling)
					}
				}
			}
		}
	}
}

// weightsAt returns the weights of one part before a step.
func weightsAt(t *testing.T, p *learn.Problem, o Options, step int) *gnn.Weights {
	t.Helper()
	o.Devices = devices(t, 1, host.Spec{})
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for epoch := 0; step > 0; epoch++ {
		n := min(step, tr.roots.steps)
		tr.state.Batch = 0
		if err := tr.Stretch(epoch, tr.state.Batch, n); err != nil {
			t.Fatal(err)
		}
		step -= n
	}
	w, err := tr.Crew.Weights(tr.Weights)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// gradientAt returns the gradient of one step from weights: what SGD takes off them, with a rate at which nothing of it is lost
// beside them.
func gradientAt(t *testing.T, p *learn.Problem, o Options, w *gnn.Weights, step, parts int, shares []float64) *gnn.Weights {
	t.Helper()
	const rate = 1e5
	o.Optimizer = gnn.Optimizer{Kind: gnn.SGD, LR: rate}
	o.Devices, o.Part, o.Shares, o.Init = devices(t, parts, host.Spec{}), homes(p.Vertices(), parts), shares, w.StateDict()
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(o.Devices) // some hundred of them would stay open
	defer tr.Close()
	tr.state.Batch = step % tr.roots.steps
	if err := tr.Stretch(step/tr.roots.steps, tr.state.Batch, tr.state.Batch+1); err != nil {
		t.Fatal(err)
	}
	g, err := tr.Crew.Weights(tr.Weights)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range w.Flat {
		g.Flat[i] = float32((float64(x) - float64(g.Flat[i])) / rate)
	}
	return g
}

// closed closes devices before the end of the test.
func closed(devices []gpu.Device) {
	for _, d := range devices {
		d.Close()
	}
}

func near(t *testing.T, what string, got, want *gnn.Weights) {
	t.Helper()
	for k, e := range want.Tensors {
		var diff, norm float64
		for i, x := range e.Data {
			d := float64(got.Tensors[k].Data[i]) - float64(x)
			diff, norm = diff+d*d, norm+float64(x)*float64(x)
		}
		if !(math.Sqrt(diff) <= 2e-5*math.Sqrt(norm)) || norm == 0 {
			t.Errorf("%s: gradient of %s differs by %.2e of %.2e", what, e.Name, math.Sqrt(diff), math.Sqrt(norm))
		}
	}
}

// Where all neighbours count the same, a sum over some of them, times n/k, is that over all, and so is the gradient of one layer: of
// every model with sums, whatever becomes of loops. An added loop is no neighbour, and keeps its weight.
func TestSamplesOfEqualsAreTheWhole(t *testing.T) {
	for _, kind := range []named.Kind{named.GCN, named.SAGE, named.GIN} {
		for _, loops := range []graph.Loops{graph.LoopsKept, graph.LoopsAdded, graph.LoopsRemoved} {
			p, m := task{directed: true}.make(t, kind)
			p.Loops = loops
			m.Layers = 1
			_, out := p.Loops.Degrees(p.Graph)
			for v := range p.Vertices() {
				for j := range m.In {
					x := float64(j%3) - 0.7
					if kind.Symmetric() { // a column weighs 1 ÷ √out-degree
						x *= math.Sqrt(float64(max(1, out[v])))
					}
					p.Features.Dense[v*m.In+j] = float32(x)
				}
			}
			w := gnn.NewWeights(netOf(m))
			w.Init(1)
			gradient := func(fanout int) *gnn.Weights {
				o := Options{
					Training: Training{Model: netOf(m), Epochs: 1},
					Sampling: Sampling{BatchSize: p.Vertices(), Fanout: []int{fanout}},
				}
				return gradientAt(t, p, o, w, 0, 1, nil)
			}
			name := fmt.Sprintf("%s, loops %v", kind, loops)
			want := gradient(sample.All)
			for _, k := range []int{1, 2, 5} {
				near(t, fmt.Sprintf("%s, fan-out %d", name, k), gradient(k), want)
			}
		}
	}
}
