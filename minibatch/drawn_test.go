package minibatch

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/model"
)

// drawn is a run that nobody thought of.
type drawn struct {
	p    *learn.Problem
	m    named.Model
	o    Options
	name string
}

// draw draws run number k: models of 1 to 4 layers, fan-outs up to all, loops of every kind, sparse features, labels or targets, parts without
// vertices, shares of nothing, batches of fewer roots than parts and of more than there are.
func draw(t *testing.T, k int) drawn {
	t.Helper()
	r := rand.New(rand.NewPCG(19, uint64(k)))
	kind := named.Kinds[k%len(named.Kinds)]
	p, m := task{directed: r.IntN(2) == 0, multi: r.IntN(3) == 0, sparse: r.IntN(3) == 0, share: []float64{0.02, 0.3, 1}[r.IntN(3)], vertices: 20 + r.IntN(300)}.make(t, kind)
	p.Loops = []graph.Loops{graph.LoopsKept, graph.LoopsAdded, graph.LoopsRemoved}[r.IntN(3)]
	if r.IntN(3) == 0 {
		p.Graph = withHubs(t, p.Graph, 60)
	}
	m.Layers, m.Hidden, m.Heads, m.Dropout, m.Seed = 1+r.IntN(4), 4*(1+r.IntN(5)), []int{1, 4}[r.IntN(2)], []float64{0, 0.5}[r.IntN(2)], r.Uint64()
	if k/len(named.Kinds)%4 == 1 {
		m.AttentionDropout = 0
	}
	m.NoNorm, m.Activation = kind.Norms() && k/len(named.Kinds)%2 == 1, model.Activations[k/len(named.Kinds)/2%len(model.Activations)]
	m.DropFeatures = kind != named.SGC && k/len(named.Kinds)%5 < 2
	m.Residual = kind.Norms() && m.Layers > 2 && k/len(named.Kinds)%3 > 0
	m.Jumping = kind.Norms() && k/len(named.Kinds)/3%2 == 1
	parts := []int{1, 2, 3, 5}[r.IntN(4)]
	o := Options{
		Training: Training{Model: netOf(m),
			Optimizer: gnn.Optimizer{Kind: []gnn.OptimizerKind{gnn.Adam, gnn.AdamW, gnn.SGD}[r.IntN(3)], LR: 0.01},
			Epochs:    2},
	}
	o.Devices, o.Part = devices(t, parts, host.Spec{}), make([]int32, p.Vertices())
	if parts > 1 && r.IntN(4) == 0 {
		o.Devices[1] = o.Devices[0]
	}
	full := 1 + r.IntN(parts) // the parts with vertices
	for v := range o.Part {
		o.Part[v] = int32(r.IntN(full))
	}
	s := &o.Sampling
	s.BatchSize, s.Local = []int{1 + r.IntN(40), 1 + r.IntN(parts), 20, 1 << 20}[r.IntN(4)], r.IntN(3) == 0
	for range m.Layers {
		s.Fanout = append(s.Fanout, []int{1, 2, 3, 10, sample.All}[r.IntN(5)])
	}
	s.Ladies = k%3 == 1 && !kind.Attends()
	if s.Ladies && kind == named.GIN && m.NoNorm { // weights of drawn rows in sums that nothing scales: some overflow
		o.Optimizer.LR = 1e-4
	}
	if !s.Local && r.IntN(2) == 0 {
		for range parts {
			o.Shares = append(o.Shares, float64(r.IntN(3)))
		}
		o.Shares[r.IntN(parts)] = 1.5
	}
	if kind.StoresBF16() && r.IntN(4) == 0 {
		o.Storage = gpu.BF16
	}
	kindOfRoots{places[r.IntN(len(places))], s.Local}.set(s)
	s.NoGather = s.Place == Hop && r.IntN(2) == 0
	m.BatchNorm = kind.Norms() && !m.NoNorm && s.Place != Hop && k%2 == 0
	o.Model = netOf(m)
	return drawn{p, m, o, fmt.Sprintf("run %d: %+v, %d vertices (%d train), loops %v, sparse %t, %d parts (%d with vertices), shares %v, %+v, %v", k, m, p.Vertices(),
		p.TrainingVertices(), p.Loops, p.Features.Sparse(), parts, full, o.Shares, o.Sampling, o.Storage)}
}

// What devices take is within the plan's bounds, in small runs too, where it is of many small blocks. A buffer that grows was larger than any step that was sampled to see.
func TestPlanBoundsDrawnRuns(t *testing.T) {
	runs := 200
	if testing.Short() || !long.Wanted() {
		runs = 40
	}
	for k := range runs {
		d := draw(t, 1000+k)
		if d.p.TrainingVertices() == 0 {
			continue
		}
		plan, err := Plan(t.Context(), d.p, d.o)
		if err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		var grown strings.Builder
		d.o.Log = slog.New(slog.NewTextHandler(&grown, nil))
		d.o.EvalEvery = 1
		r := trained(t, d.p, d.o)
		bound := make([]gpu.Bytes, len(plan.Parts))
		for _, part := range plan.Parts {
			bound[part.Home] += part.Bound
		}
		for i, part := range plan.Parts {
			if r.PeakDevice[i] > bound[part.Home] {
				t.Errorf("%s: part %d took %d bytes, planned %d: %+v\n%s", d.name, i, r.PeakDevice[i], bound[part.Home], part.Uses, grown.String())
			}
		}
	}
}

// Any run gives the same bits with other threads, samplers, slots and row caches, and when it is interrupted anywhere and resumed; and the gradient of a
// step is that of one part, which shares no work, but where parts draw layers of their own, or rows that two of them
// compute count twice in a norm.
func TestDrawnRuns(t *testing.T) {
	runs := 60
	switch {
	case testing.Short(): // under the race detector
		runs = 8
	case !long.Wanted():
		runs = 20
	}
	for k := range runs {
		tryDrawn(t, k)
	}
	if long.Wanted() {
		for k := range runs {
			tryDrawn(t, runs*(1+int(long.Turn()%1000))+k) // others for every commit; a failure names its number
		}
	}
}

func tryDrawn(t *testing.T, k int) {
	t.Helper()
	d := draw(t, k)
	if d.p.TrainingVertices() == 0 {
		return
	}
	want := trained(t, d.p, d.o)
	if want.Roots != int64(2*d.p.TrainingVertices()) {
		t.Errorf("%s: %d roots", d.name, want.Roots)
	}
	o := d.o
	o.Devices = devices(t, len(o.Devices), host.Spec{Threads: 2, Latency: time.Duration(k%3) * 10 * time.Microsecond})
	o.Sampling.Prefetch, o.Sampling.Samplers = 1+k%4, 1+k%3
	o.Sampling.Fetch, o.Sampling.RowCache = policies[k%len(policies)], CacheSize{CacheRows, float64(k % 50)}
	o.CheckpointDir, o.Resume, o.Identity = t.TempDir(), true, "id"
	r := rand.New(rand.NewPCG(20, uint64(k)))
	for {
		tr, err := New(t.Context(), d.p, o)
		if err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := 1 + r.IntN(3*tr.roots.steps)
		tr.o.OnStep = func(Progress) {
			if left--; left == 0 {
				cancel()
			}
		}
		got, err := tr.Run(ctx)
		tr.Close()
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		if got.Stopped == fit.Interrupted {
			continue
		}
		if got.WeightsSHA != want.WeightsSHA || got.FinalLoss != want.FinalLoss || got.Edges != want.Edges {
			t.Errorf("%s: %s, loss %v, %d edges with %+v, want %s, %v, %d", d.name, got.WeightsSHA, got.FinalLoss, got.Edges, o.Sampling, want.WeightsSHA, want.FinalLoss, want.Edges)
		}
		break
	}
	if !d.o.Sampling.Local && !d.o.Sampling.Ladies && d.o.Storage == gpu.FP32 && !d.m.BatchNorm {
		from, step := want.Weights, r.IntN(100)
		got := gradient(t, d.p, d.o, step, from)
		one := d.o
		one.Devices, one.Part, one.Shares = one.Devices[:1], nil, nil
		closeTo(t, fmt.Sprintf("%s: step %d", d.name, step), got, gradient(t, d.p, one, step, from), gnn.NewWeights(d.o.Model), 2e-5)
	}
	closed(o.Devices)
	closed(d.o.Devices)
}
