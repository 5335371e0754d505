package minibatch

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/interpreter/programs"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
	"capgnn/model"
	"capgnn/pipeline"
	"capgnn/pipeline/chunks"
)

// normed is a task with BatchNorm between layers, of which all vertices train.
func normed(t testing.TB, kind named.Kind) (*learn.Problem, named.Model) {
	p, m := task{share: 1}.make(t, kind)
	m.BatchNorm, m.Dropout = true, 0.2
	for v := range p.Labels { // a vertex without a label is no root
		p.Labels[v] = int32(v*v%11) % int32(p.Classes)
	}
	return p, m
}

// inPieces returns the graph without the edges between parts.
func inPieces(g *graph.CSR, part []int32) *graph.CSR {
	out := &graph.CSR{Cols: g.Cols, Indptr: []int64{0}}
	for v := range g.Rows() {
		for _, u := range g.Row(v) {
			if part[v] == part[u] {
				out.Indices = append(out.Indices, u)
			}
		}
		out.Indptr = append(out.Indptr, int64(len(out.Indices)))
	}
	return out
}

// All neighbours of all vertices in one step is full-batch training, running statistics included. So it is on several
// parts that share no row: statistics are those of the rows of all of them.
func TestBatchNormOfWholeSteps(t *testing.T) {
	for _, kind := range kinds(t) {
		if !kind.Norms() {
			continue
		}
		for _, parts := range []int{1, 2, 3} {
			p, m := normed(t, kind)
			part := homes(p.Vertices(), parts)
			if parts > 1 {
				p.Graph = inPieces(p.Graph, part)
			}
			rule := gnn.Optimizer{Kind: gnn.SGD, LR: 0.1}
			got := trained(t, p, Options{
				Training: Training{Model: netOf(m), Optimizer: rule, Epochs: 3}, Devices: devices(t, parts, host.Spec{}), Part: part,
				Sampling: Sampling{BatchSize: p.Vertices(), Fanout: fanouts(sample.All, sample.All, sample.All), Local: true},
			})
			tr, err := pipeline.New(t.Context(), p, pipeline.Options{
				Training: pipeline.Training{Model: netOf(m), Optimizer: rule, Epochs: 3},
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
			zero := gnn.NewWeights(netOf(m))
			for _, x := range zero.Tensors { // a bias before a norm has no gradient
				if w := want.Weights.Tensor(x.Name); slices.Equal(w.Data, from.Tensor(x.Name).Data) {
					copy(from.Tensor(x.Name).Data, make([]float32, len(x.Data)))
				}
			}
			name := fmt.Sprintf("%s, %d parts", kind, parts)
			closeTo(t, name, got.Weights, want.Weights, from, 1e-4)
			if math.Abs(got.FinalLoss-want.FinalLoss) > 1e-5*want.FinalLoss {
				t.Errorf("%s: loss %v, want %v", name, got.FinalLoss, want.FinalLoss)
			}
			if math.Abs(*got.Last.Train-*want.Last.Train) > 1.5/float64(p.Vertices()) {
				t.Errorf("%s: evaluation has %v, want %v", name, *got.Last.Train, *want.Last.Train)
			}
		}
	}
}

// Parts without roots in a step meet the others: with a batch of one root, steps are those of one part.
func TestBatchNormOfAbsentParts(t *testing.T) {
	p, m := normed(t, named.SAGE)
	var want *Result
	for _, parts := range []int{1, 3, 5} {
		o := small(m, devices(t, parts, host.Spec{}), homes(p.Vertices(), parts))
		o.Sampling.BatchSize, o.Epochs = 1, 1
		o.Optimizer = gnn.Optimizer{Kind: gnn.SGD, LR: 0.01}
		got := trained(t, p, o)
		if want == nil {
			want = got
		}
		for _, x := range want.Weights.Tensors {
			limit := 1e-3*weightsApart(x.Data, make([]float32, len(x.Data))) + 1e-5
			if d := weightsApart(got.Weights.Tensor(x.Name).Data, x.Data); !(d <= limit) {
				t.Errorf("%d parts: %s differs by %.2e, limit %.2e", parts, x.Name, d, limit)
			}
		}
	}
}

// A step of one row, whose variance nobody knows, leaves running statistics as they are, and all weights are numbers.
func TestBatchNormOfOneRow(t *testing.T) {
	p, m := normed(t, named.SAGE)
	p.Graph = &graph.CSR{Cols: p.Vertices(), Indptr: make([]int64, p.Vertices()+1)}
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	o.Sampling.BatchSize, o.Epochs = 1, 1
	w := trained(t, p, o).Weights
	for _, x := range w.Tensors {
		for _, v := range x.Data {
			if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
				t.Fatalf("%s has %v", x.Name, f)
			}
		}
	}
	if v := w.Tensor("norms.0.module.running_var").Data[0]; v != 1 {
		t.Errorf("the running variance is %v, want the first one, 1", v)
	}
}

// Bits do not depend on ranks or on interruptions, wherever roots are, of samples and of isolated parts.
func TestBatchNormResumesAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for k, place := range []kindOfRoots{{place: Home}, {}, {local: true}} {
		p, m := normed(t, named.SAGE)
		o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
		o.Sampling.BatchSize, o.EvalEvery = 40, 1
		o.Sampling.Fetch, o.Sampling.RowCache = rowcache.Rules{Kind: rowcache.Planned}, CacheSize{CacheRows, 40}
		if k == 1 {
			o.EvalFanout, o.Storage = []int{3, 2, sample.All}, gpu.BF16
		}
		place.set(&o.Sampling)
		checkRanksResume(t, fmt.Sprintf("%+v", place), p, o, k, k, r)
	}
	for _, workers := range []int{1, 3} {
		p, m := normed(t, named.GCN)
		o := isolatedOptions(t, m, chunks.Isolated{Chunks: 4, AllLayers: true, Targets: chunks.Both}, p.Vertices(), workers)
		o.Sampling.BatchSize = 24
		want := trained(t, p, o)
		if workers == 1 {
			continue
		}
		got, errs := rankRun{p: p, o: func(int) Options { return o }}.run(t, groupings[0])
		if err := errors.Join(errs...); err != nil || got[0].WeightsSHA != want.WeightsSHA {
			t.Errorf("isolated over ranks: %v, or other weights", err)
		}
	}
}

// Rows of a step that models compute one after the other have no statistics together, and a step has not all rows that
// sums over all vertices are of.
func TestBatchNormRefused(t *testing.T) {
	p, m := normed(t, named.GCN)
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	kindOfRoots{place: Hop}.set(&o.Sampling)
	if _, err := New(t.Context(), p, o); err == nil || !contains(err, "drop --sampling hopgnn") {
		t.Errorf("got %v", err)
	}

	var custom *gnn.Model
	for seed := uint64(3); custom == nil || !custom.Config(false, 5).SumsAll(); seed += 5 {
		program, err := model.Parse([]byte(programs.Draw(seed, p.Features.Cols, p.Classes)))
		if err != nil {
			t.Fatal(err)
		}
		custom, _ = gnn.NewModel(program)
	}
	o = small(m, devices(t, 1, host.Spec{}), nil)
	o.Model = custom.Config(false, 5)
	if _, err := New(t.Context(), p, o); err == nil || !contains(err, "the model sums over all vertices") {
		t.Errorf("got %v", err)
	}
}
