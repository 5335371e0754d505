package minibatch

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/pipeline"
)

// netOf returns a model of settings that are right.
func netOf(m named.Model) gnn.Config { return named.Config(m, gnn.NewModel) }

// task is a small random problem.
type task struct {
	directed, multi, sparse bool
	share                   float64 // of vertices that train; 0: half of them
	vertices                int     // 0: 300
	cols                    int     // of features; 0: 20
}

// make builds the task for a model. Vertices 0 and 1 have no in-neighbour; stored loops are not what any model wants.
func (k task) make(t testing.TB, kind named.Kind) (*learn.Problem, named.Model) {
	t.Helper()
	if k.vertices == 0 {
		k.vertices = 300
	}
	if k.share == 0 {
		k.share = 0.5
	}
	g, err := synth.Random(k.vertices, 6*k.vertices, k.directed, 11)
	if err != nil {
		t.Fatal(err)
	}
	g = g.WithoutLoops()
	var edges graph.CSR
	edges.Cols, edges.Indptr = g.Cols, []int64{0}
	for v := range g.Rows() {
		if v > 1 {
			row := g.Row(v)
			for i, u := range row {
				if v%7 == 3 && int(u) > v && (i == 0 || int(row[i-1]) < v) {
					edges.Indices = append(edges.Indices, int32(v))
				}
				edges.Indices = append(edges.Indices, u)
			}
		}
		edges.Indptr = append(edges.Indptr, int64(len(edges.Indices)))
	}
	const classes = 6
	cols := cmp.Or(k.cols, 20)
	r := rand.New(rand.NewPCG(3, 4))
	n := g.Rows()
	p := &learn.Problem{Graph: &edges, Loops: graph.LoopsRemoved, Classes: classes, Train: make([]bool, n), Val: make([]bool, n), Test: make([]bool, n)}
	if kind.AddsLoops() {
		p.Loops = graph.LoopsAdded
	}
	p.Features = learn.Features{Cols: cols, Dense: make([]float32, n*cols)}
	for i := range p.Features.Dense {
		if !k.sparse || r.IntN(5) == 0 {
			p.Features.Dense[i] = float32(r.NormFloat64())
		}
	}
	if k.sparse {
		f := learn.Features{Cols: cols, Indptr: []int64{0}}
		for v := range n {
			for j, x := range p.Features.Dense[v*cols:][:cols] {
				if x != 0 {
					f.Indices, f.Data = append(f.Indices, int32(j)), append(f.Data, x)
				}
			}
			f.Indptr = append(f.Indptr, int64(len(f.Indices)))
		}
		p.Features = f
	}
	for v := range n {
		p.Train[v] = r.Float64() < k.share
		p.Val[v], p.Test[v] = !p.Train[v] && v%2 == 0, !p.Train[v] && v%2 == 1
		if k.multi {
			for range classes {
				p.Targets = append(p.Targets, uint8(r.IntN(2)))
			}
			continue
		}
		p.Labels = append(p.Labels, int32(r.IntN(classes+1))-1)
	}
	attention := 0.
	if kind.Attends() {
		attention = 0.4
	}
	return p, named.Model{Kind: kind, AttentionDropout: attention, Layers: 3, Hidden: 16, In: cols, Out: classes, Heads: 4, Alpha: 0.3, Theta: 0.7, Dropout: 0.5, Multi: k.multi, Seed: 5}
}

// devices opens CPU devices.
func devices(t testing.TB, n int, spec host.Spec) (out []gpu.Device) {
	t.Helper()
	for i := range n {
		s := spec
		s.Name = fmt.Sprintf("cpu:%d", i)
		s.Threads, s.Memory, s.Poison = max(1, s.Threads), 4<<30, true
		d, err := host.Open(s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		out = append(out, d)
	}
	return out
}

// homes gives vertices parts, in pieces of unequal length.
func homes(n, parts int) []int32 {
	out := make([]int32, n)
	for v := range out {
		out[v] = int32((v*v + v/3) % parts)
	}
	return out
}

// trained runs o and returns what comes out.
func trained(t testing.TB, p *learn.Problem, o Options) *Result {
	t.Helper()
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	r, err := tr.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fanouts(k ...int) []int { return k }

// closeTo compares tensor by tensor: each within rel of the norm.
func closeTo(t testing.TB, what string, got, want, from *gnn.Weights, rel float64) {
	t.Helper()
	for k, e := range want.Tensors {
		var diff, norm float64
		for i, x := range e.Data {
			d, g := float64(got.Tensors[k].Data[i])-float64(x), float64(x)-float64(from.Tensors[k].Data[i])
			diff, norm = diff+d*d, norm+g*g
		}
		if diff, norm = math.Sqrt(diff), math.Sqrt(norm); !(diff <= rel*norm+1e-7) {
			t.Errorf("%s: %s differs by %.2e of %.2e", what, e.Name, diff, norm)
		}
	}
}

// All neighbours and one step per epoch is full-batch training.
func TestFullNeighboursAreFullBatch(t *testing.T) {
	all := fanouts(sample.All, sample.All, sample.All)
	for _, kind := range kinds(t) {
		for _, k := range []task{{}, {directed: true, multi: true}, {sparse: true}} {
			for _, parts := range []int{1, 3} {
				for _, drops := range []bool{false, true} {
					name := fmt.Sprintf("%s %+v, %d parts, drops features %t", kind, k, parts, drops)
					p, m := k.make(t, kind)
					m.DropFeatures = drops && kind.Norms()
					rule := gnn.Optimizer{Kind: gnn.SGD, LR: 1}
					part := homes(p.Vertices(), parts)
					var weigh learn.Labels
					if kind == named.SAGE && !k.multi {
						weigh = learn.Labels{Weights: []float64{1, 0.25, 0, 3, 0.5, 1.5}, Smoothing: 0.2}
					}
					got := trained(t, p, Options{
						Training: Training{Model: netOf(m), Task: weigh, Optimizer: rule, Epochs: 1},
						Devices:  devices(t, parts, host.Spec{}), Part: part, Sampling: Sampling{BatchSize: p.Vertices(), Fanout: all},
					})
					tr, err := pipeline.New(t.Context(), p, pipeline.Options{
						Training: pipeline.Training{Model: netOf(m), Task: weigh, Optimizer: rule, Epochs: 1},
						Devices:  devices(t, 1, host.Spec{}), Part: make([]int32, p.Vertices()),
					})
					if err != nil {
						t.Fatal(err)
					}
					want, err := tr.Run(t.Context())
					tr.Close()
					if err != nil {
						t.Fatal(err)
					}
					from := gnn.NewWeights(netOf(m))
					from.Init(m.Seed)
					closeTo(t, name, got.Weights, want.Weights, from, 2e-5)
					if math.Abs(got.FinalLoss-want.FinalLoss) > 1e-5*want.FinalLoss {
						t.Errorf("%s: loss %v, want %v", name, got.FinalLoss, want.FinalLoss)
					}
					if t.Failed() {
						return
					}
				}
			}
		}
	}
}

// kinds returns the models that a test goes through: GCN, GAT, and two of the others; in short, as under the race detector, GCN and one other.
func kinds(t testing.TB) []named.Kind {
	if testing.Short() {
		return long.Few(t, named.Kinds, 1, named.GCN)
	}
	return long.Few(t, named.Kinds, 2, named.GCN, named.GAT)
}
