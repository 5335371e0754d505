package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// adaptiveCache is a cache whose rows' age adapts.
func adaptiveCache() halo.Options {
	return halo.Options{Policy: jaca.JACA, Staleness: adapts, Pipeline: true, Host: hostmem.LockOptions{Heap: true}}
}

// noted is what an adaptive run says of its epochs.
func noted(epochs *[]string) func(EpochStats) error {
	return func(e EpochStats) error {
		*epochs = append(*epochs, fmt.Sprintln(e.Epoch, e.Loss, *e.Rung))
		return nil
	}
}

// The gradients that a probe compares are those of runs: without slots every age is one epoch, so a run of a fixed staleness, exact as long as the ladder has
// fresh rows, goes the same way up to the first probe. There it steps with the stale gradient, the adaptive run with the fresh one, and plain descent tells
// both, and that of the epoch before, by the weights.
func TestProbeComparesWhatRunsCompute(t *testing.T) {
	const parts, probe = 3, 10
	for _, kind := range kinds(t) {
		for _, dropout := range []float64{0, 0.5} {
			p, m := task{share: 0.4}.make(t, kind)
			m.Dropout = dropout
			weights := func(epochs int, edit func(*Options)) (*gnn.Weights, []jaca.Harm) {
				var harms []jaca.Harm
				tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.Optimizer = epochs, gnn.Optimizer{Kind: gnn.SGD, LR: 0.02}
					o.Cache = adaptiveCache()
					o.Cache.Local, o.Cache.Global = jaca.Rows(0), jaca.Rows(0)
					o.OnEpoch = func(e EpochStats) error {
						if e.Rung != nil && e.Rung.Harms != nil {
							harms = e.Rung.Harms
						}
						return nil
					}
					edit(o)
				})
				return run(t, tr).Weights, harms
			}
			fixed := func(o *Options) {
				o.Cache.Staleness, o.Cache.ExactEpochs = jaca.Staleness{Bound: 1}, jaca.FreshEpochs-1
			}
			before, _ := weights(probe-1, fixed)
			start, _ := weights(probe, fixed)
			if same, _ := weights(probe, func(*Options) {}); same.SHA256() != start.SHA256() {
				t.Fatalf("%s: the adaptive run goes another way before its first probe", kind)
			}
			stale, _ := weights(probe+1, fixed)
			fresh, harms := weights(probe+1, func(*Options) {})
			for layer, ranges := range fresh.Layers() {
				var harm, noise, norm float64
				for _, r := range ranges {
					for i := r.Lo; i < r.Hi; i++ {
						f, s, b := float64(start.Flat[i])-float64(fresh.Flat[i]), float64(start.Flat[i])-float64(stale.Flat[i]), float64(before.Flat[i])-float64(start.Flat[i])
						harm, noise, norm = harm+(f-s)*(f-s), noise+(f-b)*(f-b), norm+f*f
					}
				}
				if len(ranges) == 0 {
					continue
				}
				got := harms[slices.IndexFunc(harms, func(h jaca.Harm) bool { return h.Layer == layer })]
				if rho, n := math.Sqrt(harm/norm), math.Sqrt(noise/norm/2); got.Layer != layer || math.Abs(got.Rho-rho) > 1e-3*(1+rho) || math.Abs(got.Noise-n) > 1e-3*(1+n) || !(rho > 0) {
					t.Errorf("%s, dropout %g: %+v, runs say %g and %g", kind, dropout, got, rho, n)
				}
			}
		}
	}
}

// What probes find, the levels and the weights are the same whatever the threads and the number of devices, and after a stop behind any epoch, those just before
// and behind a probe among them.
func TestProbesDependOnNothing(t *testing.T) {
	const parts, epochs, rate = 4, 24, 0.001
	for n, kind := range kinds(t) {
		p, m := task{share: 0.4, vertices: 200}.make(t, kind)
		part := make([]int32, p.Vertices()) // most rows are at home, so that levels rise
		for v := range part {
			part[v] = int32(max(0, v%25-25+parts))
		}
		train := func(devices []gpu.Device, edit func(*Options)) string {
			var said []string
			tr := newTrainer(t, p, m, devices, part, func(o *Options) {
				o.Epochs, o.Optimizer.LR, o.Cache, o.OnEpoch = epochs, rate, adaptiveCache(), noted(&said)
				o.Cache.HaloType = halo.Encoding(n % 3)
				edit(o)
			})
			defer tr.Close()
			r := run(t, tr)
			return strings.Join(said, "") + r.WeightsSHA + fmt.Sprint(*r.Period)
		}
		plain := cpus(t, parts)
		want := train(plain, func(*Options) {})
		probes := 2
		if kind == gnn.SGC || kind == gnn.GCNII { // the loss falls so evenly that the first stale epochs end the level
			probes = 1
		}
		if strings.Count(want, "}]}\n") < probes {
			t.Errorf("%s: %d probes are expected:\n%s", kind, probes, want)
		}
		shared, err := host.Open(host.Spec{Name: "cpu:0", Threads: 3})
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, shared)
		if got := train([]gpu.Device{shared, shared, plain[1], shared}, func(o *Options) { o.EvalEvery = 1 }); got != want {
			t.Errorf("%s: other devices give\n%s\nwant\n%s", kind, got, want)
		}
		for stop := 4; stop < epochs; stop++ {
			if near := stop >= 9 && stop <= 12 || stop >= 19 && stop <= 22; !near && (n > 0 && !long.Wanted() || testing.Short()) {
				continue
			}
			var said []string
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(context.Background())
			tr := newTrainer(t, p, m, plain, part, func(o *Options) {
				o.Epochs, o.Optimizer.LR, o.Cache, o.CheckpointDir = epochs, rate, adaptiveCache(), dir
				o.Cache.HaloType = halo.Encoding(n % 3)
				o.OnEpoch = func(e EpochStats) error {
					if e.Epoch == stop-1 {
						cancel()
					}
					return noted(&said)(e)
				}
			})
			if _, err := tr.Run(ctx); err != nil {
				t.Fatal(err)
			}
			tr.Close()
			if got := strings.Join(said, "") + train(plain, func(o *Options) { o.CheckpointDir, o.Resume = dir, true }); got != want {
				t.Errorf("%s: stopped behind %d epochs and resumed:\n%s\nwant\n%s", kind, stop, got, want)
			}
		}
	}
}

// Halo rows of another plan are not taken over: the ladder begins anew, soon probes, and the run ends.
func TestProbesAfterAnotherPlan(t *testing.T) {
	const parts = 3
	p, m := task{share: 0.4, vertices: 200}.make(t, gnn.SAGE)
	part := scatterParts(p.Vertices(), parts)
	dir := t.TempDir()
	run(t, newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) { o.Epochs, o.Cache, o.CheckpointDir = 10, adaptiveCache(), dir }))
	var log bytes.Buffer
	var said []string
	run(t, newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) {
		o.Epochs, o.Cache, o.CheckpointDir, o.Resume, o.OnEpoch = 60, adaptiveCache(), copyOf(t, dir), true, noted(&said)
		o.Cache.Local = jaca.Percent(40)
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	}))
	all := strings.Join(said, "")
	if !strings.Contains(log.String(), "due once more") || !strings.HasPrefix(said[0], "10 ") || !strings.HasSuffix(said[0], "{0 0 []}\n") || !strings.Contains(all, "}]}\n") {
		t.Errorf("log %s, epochs %v", &log, said)
	}
}

// crossed is a task in which neighbours in the other part carry all of the label: a random bipartite graph, one side of which is each part.
func crossed(t *testing.T) (*learn.Problem, gnn.Config, []int32) {
	t.Helper()
	const n, classes, degree = 300, 4, 3
	r := rand.New(rand.NewPCG(7, 8))
	p := &learn.Problem{Classes: classes, Features: learn.Features{Cols: classes, Dense: make([]float32, n*classes)}, Train: make([]bool, n), Labels: make([]int32, n)}
	part, kind := make([]int32, n), make([]int, n)
	for v := range n {
		kind[v], part[v], p.Train[v] = r.IntN(classes), int32(v%2), true
		p.Features.Dense[v*classes+kind[v]] = 1
	}
	var edges []graph.Edge
	for v := 0; v < n; v += 2 {
		for range degree {
			u := 2*r.IntN(n/2) + 1
			edges = append(edges, graph.Edge{From: graph.NodeID(v), To: graph.NodeID(u)}, graph.Edge{From: graph.NodeID(u), To: graph.NodeID(v)})
		}
	}
	var err error
	if p.Graph, err = graph.FromEdges(n, edges); err != nil {
		t.Fatal(err)
	}
	for v := range n { // the label is the commonest kind around
		var count [classes]int
		for _, u := range p.Graph.Row(v) {
			count[kind[u]]++
		}
		for c := range classes {
			if count[c] > count[p.Labels[v]] {
				p.Labels[v] = int32(c)
			}
		}
	}
	return p, gnn.Config{Kind: gnn.SAGE, Layers: 3, Hidden: 16, In: classes, Out: classes, Seed: 2}, part
}

// Where stale rows do harm, nearly all epochs have fresh ones; where they do not, rows get old.
func TestLadderByHarm(t *testing.T) {
	stale := func(p *learn.Problem, m gnn.Config, part []int32, parts, epochs int, lr float64) (share float64, oldest int) {
		tr := newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) {
			o.Epochs, o.Optimizer.LR, o.Cache = epochs, lr, adaptiveCache()
			o.OnEpoch = func(e EpochStats) error {
				if e.Rung.Period > 0 {
					share += 1 / float64(epochs)
				}
				oldest = max(oldest, e.Rung.Period)
				if e.Rung.Harms != nil {
					t.Log(e.Epoch, e.Loss, *e.Rung)
				}
				return nil
			}
		})
		run(t, tr)
		return share, oldest
	}
	p, m, part := crossed(t)
	for _, rate := range []float64{0.02, 0.1} {
		for m.Seed = range uint64(3) {
			if share, _ := stale(p, m, part, 2, 200, rate); share > 0.15 {
				t.Errorf("rate %g, seed %d: rows that do harm are stale in %.0f %% of the epochs", rate, m.Seed, 100*share)
			}
		}
	}
	p, m = publishedProblem(t, "heterophilous/tolokers.npz", gnn.GCN)
	m.Hidden = 16
	if share, oldest := stale(p, m, scatterParts(p.Vertices(), 2), 2, 60, 0.01); share < 0.25 || oldest < jaca.FirstPeriod {
		t.Errorf("tolokers: rows are stale in %.0f %% of the epochs, refreshed every %d", 100*share, oldest)
	}
}
