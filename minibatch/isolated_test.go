package minibatch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/model"
	"capgnn/pipeline/chunks"
)

// isolatedOptions are those of a run of isolated parts on so many workers.
func isolatedOptions(t testing.TB, m named.Model, how chunks.Isolated, n, workers int) Options {
	o := small(m, devices(t, workers, host.Spec{}), nil)
	o.Isolated = &Isolated{how, homes(n, how.Chunks)}
	return o
}

// Steps of isolated parts are those of their definition, in float64: samples of the pair without its edges to other
// chunks, all layers or all but the first cut, every part in turn or at once.
func TestIsolatedSamples(t *testing.T) {
	for k, kind := range []named.Kind{named.GCN, named.SAGE} {
		for i, workers := range []int{4, 1} {
			checkIsolatedRun(t, kind, chunks.Isolated{Chunks: 4, AllLayers: true, Targets: chunks.AllTargets[i]}, workers)
			checkIsolatedRun(t, kind, chunks.Isolated{Chunks: 4, Targets: chunks.AllTargets[1-i]}, workers)
		}
		for i, correction := range chunks.Corrections[1:] {
			how := chunks.Isolated{Chunks: 4, Correction: correction, Targets: chunks.AllTargets[(i+k)%2]}
			how.AllLayers = (i+k)%2 == 0
			checkIsolatedRun(t, kind, how, []int{3, 1, 4}[(i+k)%3])
		}
	}
}

func checkIsolatedRun(t *testing.T, kind named.Kind, how chunks.Isolated, workers int) {
	t.Helper()
	name := fmt.Sprintf("%s, %d workers, %+v", kind, workers, how)
	p, m := task{vertices: 120, cols: 4}.make(t, kind)
	m.Layers, m.Hidden, m.Dropout, m.NoNorm, m.Activation = 2, 4, 0, true, model.Tanh
	o := isolatedOptions(t, m, how, p.Vertices(), workers)
	o.Epochs, o.Optimizer = 3, gnn.Optimizer{Kind: gnn.SGD, LR: 0.3}
	if how.Correction == chunks.Resampling { // whose factors are small
		o.Optimizer.LR = 10
	}
	o.Sampling.BatchSize, o.Sampling.Fanout = 24, fanouts(3, 2)
	if !how.AllLayers {
		o.Sampling.Fanout[1] = sample.All
	}
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	from := gnn.NewWeights(netOf(m))
	from.Init(m.Seed)
	ref := newIsolatedRef(p, m, *o.Isolated, o.Sampling.Fanout, from)
	iso, steps := tr.roots.isolation, tr.roots.steps
	for step := range o.Epochs * steps {
		at := iso.at(step/steps, step%steps)
		var all []*share
		for w := range workers {
			if part := iso.Course.Part(at.Phase, w); part >= 0 {
				roots := tr.roots.of(step, w, 0, nil)
				all = append(all, ref.draw(ref.holds(part, (part+at.Shift)%4), step, roots))
			}
		}
		ref.descend(all, o.Optimizer.LR)
	}
	got, err := tr.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got.Weights.Tensors {
		first := tensorOf(from, e.Name)
		var diff, norm float64
		for i, x := range ref.w[e.Name] {
			diff, norm = diff+math.Pow(float64(e.Data[i])-x, 2), norm+math.Pow(x-float64(first[i]), 2)
		}
		if diff, norm = math.Sqrt(diff), math.Sqrt(norm); !(diff <= 2e-5*norm+1e-7) {
			t.Errorf("%s: %s differs by %.2e of %.2e", name, e.Name, diff, norm)
		}
	}
}

func tensorOf(w *gnn.Weights, name string) []float32 {
	k := slices.IndexFunc(w.Tensors, func(e gnn.Tensor) bool { return e.Name == name })
	return w.Tensors[k].Data
}

// Every target is a root once in an epoch of the part that it is one of, in as many steps as batches take.
func TestIsolatedRoots(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, workers := range []int{1, 2, 5} {
		for _, targets := range chunks.AllTargets {
			o := isolatedOptions(t, m, chunks.Isolated{Chunks: 5, Targets: targets}, p.Vertices(), workers)
			o.Epochs = 4
			r := newRoots(p, &o)
			for epoch := range o.Epochs {
				got := make([]map[int32]bool, 5)
				for k := range got {
					got[k] = map[int32]bool{}
				}
				for b := range r.steps {
					at, n := r.isolation.at(epoch, b), 0
					for w := range workers {
						roots := r.of(epoch*r.steps+b, w, 0, nil)
						n += len(roots)
						for _, v := range roots {
							part := at.Phase*workers + w
							if got[part][v] {
								t.Fatalf("vertex %d is a root of part %d twice", v, part)
							}
							got[part][v] = true
						}
						if len(roots) > r.most(w, 0, 0) {
							t.Errorf("%d roots, at most %d", len(roots), r.most(w, 0, 0))
						}
					}
					if n != r.count(epoch, b) || n > o.Sampling.BatchSize+workers {
						t.Errorf("%d workers, %s: step %d: %d roots, counted %d", workers, targets, b, n, r.count(epoch, b))
					}
				}
				for part := range got {
					for v := range int32(p.Vertices()) {
						k := int(o.Isolated.Of[v])
						want := p.Trains(v) && (k == part || targets == chunks.Both && k == (part+1+epoch)%5)
						if got[part][v] != want {
							t.Fatalf("%d workers, %s, epoch %d: vertex %d of chunk %d, part %d: %t", workers, targets, epoch, v, k,
								part, got[part][v])
						}
					}
				}
			}
		}
	}
}

// With two chunks every part holds the graph: bits are those of a run that samples it, with local roots.
func TestTwoChunksAreTheGraph(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{}.make(t, kind)
		how := chunks.Isolated{Chunks: 2, AllLayers: kind.KeepsOrigin()}
		o := isolatedOptions(t, m, how, p.Vertices(), 2)
		o.EvalEvery = 1
		if !kind.Attends() && !kind.KeepsOrigin() {
			o.Sampling.Fanout[2] = sample.All
		}
		got := trained(t, p, o)
		o.Isolated, o.Part, o.Sampling.Local = nil, o.Isolated.Of, true
		want := trained(t, p, o)
		if got.WeightsSHA != want.WeightsSHA || got.FinalLoss != want.FinalLoss || *got.Best.Val != *want.Best.Val {
			t.Errorf("%s: loss %v, want %v; equal weights %t", kind, got.FinalLoss, want.FinalLoss, got.WeightsSHA == want.WeightsSHA)
		}
	}
}

// Runs of isolated parts that are interrupted at any step, within a super-epoch or a phase too, go on over other
// ranks, or in one process, and end in the bits and counts of one that nobody disturbed.
func TestIsolatedRanksResumeAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for k, how := range []chunks.Isolated{
		{Chunks: 3, Correction: chunks.Node},
		{Chunks: 7, Targets: chunks.Both},
		{Chunks: 5, Correction: chunks.LongRun, AllLayers: true},
	} {
		p, m := task{sparse: k == 1}.make(t, []named.Kind{named.SAGE, named.SAGE, named.GCN}[k])
		o := isolatedOptions(t, m, how, p.Vertices(), 3)
		o.Epochs, o.EvalEvery, o.Sampling.BatchSize = 4, 2, 20
		if k == 0 {
			o.Sampling.Fanout[2] = sample.All
		}
		checkRanksResume(t, fmt.Sprintf("%+v", how), p, o, []int{0, 2, 3}[k], k, r)
	}
}

// What epochs say of pairs is what package chunks says, in phases too.
func TestIsolatedEpochs(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	how := chunks.Isolated{Chunks: 5, Targets: chunks.Both}
	o := isolatedOptions(t, m, how, p.Vertices(), 2)
	o.Epochs = 6
	var got []SuperEpoch
	o.OnEpoch = func(e EpochStats) error { got = append(got, *e.Isolated); return nil }
	r := trained(t, p, o)
	train := make([]bool, p.Vertices())
	for v := range train {
		train[v] = p.Trains(int32(v))
	}
	cut, err := chunks.New(o.Isolated.Of, 5)
	if err != nil {
		t.Fatal(err)
	}
	turn, switches := chunks.Rotation{Chunks: 5}, 0
	for epoch, e := range got {
		shift := chunks.Schedule{Rotation: turn, Epochs: 6}.At(epoch).Shift
		var seen []chunks.Coverage
		for part := range 5 {
			seen = append(seen, cut.View(p.Graph, turn.Pair(part, shift)).Coverage(chunks.Both, train))
		}
		want := SuperEpoch{Shift: shift, Phases: 3, Switches: 3, Switch: e.Switch, Coverage: chunks.Total(seen)}
		if epoch == 0 {
			want.Switches = 2
		}
		if switches += want.Switches; e != want || e.Switch <= 0 {
			t.Errorf("epoch %d: %+v, want %+v", epoch, e, want)
		}
	}
	if len(got) != 6 || r.Switches != switches || r.SwitchTime <= 0 || r.Covered <= 0 {
		t.Errorf("%d epochs, %+v", len(got), r.Totals)
	}
}

// What goes with isolated parts and what does not.
func TestIsolatedOptions(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for want, edit := range map[string]func(o *Options){
		"299 chunk entries for 300 vertices":       func(o *Options) { o.Isolated.Of = o.Isolated.Of[:299] },
		"chunk 6, which is not in":                 func(o *Options) { o.Isolated.Of[4] = 6 },
		"no place, and no share, to choose":        func(o *Options) { o.Sampling.Place = Hop },
		"the first layer is cut as the others are": func(o *Options) { m := m; m.DropFeatures = true; o.Model = netOf(m) },
		"needs gradients in fp32, not":             func(o *Options) { o.Storage, o.Isolated.Correction = gpu.BF16, chunks.Node },
		"correction longrun weighs edges, which att": func(o *Options) {
			m := m
			m.Kind = named.GAT
			o.Model, o.Isolated.Correction = netOf(m), chunks.LongRun
		},
	} {
		o := isolatedOptions(t, m, chunks.Isolated{Chunks: 4}, p.Vertices(), 2)
		edit(&o)
		if err := o.Validate(p); err == nil || !contains(err, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A plan's bounds hold for pairs of any super-epoch, and say how many steps an epoch has.
func TestIsolatedPlan(t *testing.T) {
	for k, how := range []chunks.Isolated{{Chunks: 4}, {Chunks: 6, Targets: chunks.Both, Correction: chunks.Uniform},
		{Chunks: 9, Correction: chunks.Inclusion, AllLayers: true}, {Chunks: 12, AllLayers: true}} {
		p, m := task{vertices: 2000, sparse: k == 1}.make(t, named.SAGE)
		o := isolatedOptions(t, m, how, p.Vertices(), []int{4, 2, 1, 12}[k])
		for v := range o.Isolated.Of { // of unequal sizes
			o.Isolated.Of[v] = int32(v*v/p.Vertices()) % int32(how.Chunks)
			if k == 3 && v%10 > 0 { // two large chunks, which meet in one super-epoch
				o.Isolated.Of[v] = int32(v % 2 * 5)
			}
		}
		o.Epochs, o.EvalEvery, o.Sampling.BatchSize = 2*how.Chunks, 1, 100
		plan, err := Plan(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		r := trained(t, p, o)
		for i, part := range plan.Parts {
			if bound := part.Bound; r.PeakDevice[i] > bound || 2*r.PeakDevice[i] < bound {
				t.Errorf("%+v: part %d took %d bytes, planned %d: %+v", how, i, r.PeakDevice[i], bound, part.Uses)
			}
		}
		if plan.Steps*o.Epochs != r.Steps {
			t.Errorf("%+v: %d steps, planned %d an epoch", how, r.Steps, plan.Steps)
		}
	}
}

// Phases without targets are left out: nothing is trained in them, and the others go on.
func TestIsolatedPhasesWithoutTargets(t *testing.T) {
	for _, targets := range chunks.AllTargets {
		p, m := task{}.make(t, named.SAGE)
		o := isolatedOptions(t, m, chunks.Isolated{Chunks: 4, Targets: targets}, p.Vertices(), 1)
		for v := range p.Train {
			p.Train[v] = p.Train[v] && o.Isolated.Of[v] == 2
		}
		o.Epochs, o.Sampling.BatchSize = 6, 8
		phases := map[chunks.Targets]int{chunks.Base: 1, chunks.Both: 2}[targets]
		steps := (p.TrainingVertices() + 7) / 8
		r := trained(t, p, o)
		if r.Steps != o.Epochs*phases*steps || r.Roots != int64(o.Epochs*phases*p.TrainingVertices()) {
			t.Errorf("%s: %d steps with %d roots, want %d phases of %d", targets, r.Steps, r.Roots, phases, steps)
		}
		o.CheckpointDir, o.Resume, o.Identity = t.TempDir(), true, "id"
		at := 2*steps + 1
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		interrupted(t, tr, &o, &at)
		tr.Close()
		if got := trained(t, p, o); got.WeightsSHA != r.WeightsSHA || got.Steps != r.Steps {
			t.Errorf("%s: resumed, %d steps, want %d; equal bits %t", targets, got.Steps, r.Steps, got.WeightsSHA == r.WeightsSHA)
		}
	}
}
