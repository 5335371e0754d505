package minibatch

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/internal/fit"
	"capgnn/internal/named"
	"capgnn/minibatch/rowcache"
)

// interrupted runs o from what is saved until some step, or to its end.
func interrupted(t *testing.T, tr *Trainer, o *Options, stopAt *int) *Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tr.o.OnStep = func(p Progress) {
		if at := p.Epoch*p.Steps + p.Step; at >= *stopAt {
			cancel()
		}
	}
	r, err := tr.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A run that is interrupted behind the last step of an epoch does not wait for the evaluation: that is made up for when the run is resumed.
func TestInterruptedInEvaluation(t *testing.T) {
	for _, every := range []int{1, 0} { // with 0 the last epoch is evaluated
		p, m := task{}.make(t, named.SAGE)
		o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
		o.EvalEvery = every
		want := trained(t, p, o)
		o.CheckpointDir, o.Resume, o.Identity = t.TempDir(), true, "id"
		var epochs []EpochStats
		o.OnEpoch = func(e EpochStats) error { epochs = append(epochs, e); return nil }
		var got *Result
		for epoch := range o.Epochs + 1 {
			if every == 0 && epoch < o.Epochs-1 { // nothing is evaluated there
				continue
			}
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			steps := tr.roots.steps
			at := (epoch + 1) * steps
			got = interrupted(t, tr, &o, &at)
			if s := tr.state; epoch < o.Epochs && (got.Stopped != fit.Interrupted || s.Epochs != epoch || s.Batch != steps || len(epochs) != epoch) {
				t.Fatalf("stopped %q behind %d epochs and %d of %d steps, %d reported, want %d", got.Stopped, s.Epochs, s.Batch, steps, len(epochs), epoch)
			}
			tr.Close()
		}
		if got.WeightsSHA != want.WeightsSHA || got.Counts.Edges != want.Counts.Edges || got.Steps != want.Steps || got.FinalLoss != want.FinalLoss || !reflect.DeepEqual(got.Best, want.Best) || len(epochs) != o.Epochs {
			t.Errorf("every %d: %d epochs reported, %+v, want %+v", every, len(epochs), got.Totals, want.Totals)
		}
	}
}

// A run that is interrupted at any steps and resumed ends in the bits and counts of one that is not.
func TestInterruptedAndResumed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		kind  named.Kind
		parts int
		roots kindOfRoots
		rule  gnn.Optimizer
		every int
	}{
		{named.SAGE, 1, kindOfRoots{}, gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, 0},
		{named.GCN, 3, kindOfRoots{}, gnn.Optimizer{Kind: gnn.Adam, LR: 0.01, AMSGrad: true}, 2},
		{named.GAT, 2, kindOfRoots{local: true}, gnn.Optimizer{Kind: gnn.AdamW, LR: 0.01, WeightDecay: 0.01}, 0},
		{named.GIN, 1, kindOfRoots{}, gnn.Optimizer{Kind: gnn.SGD, LR: 0.1}, 1},
		{named.SAGE, 3, kindOfRoots{place: Home}, gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, 3},
		{named.GCN, 3, kindOfRoots{place: Hop}, gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, 2},
	} {
		name := fmt.Sprintf("%+v", c)
		p, m := task{}.make(t, c.kind)
		o := small(m, devices(t, c.parts, host.Spec{}), homes(p.Vertices(), c.parts))
		o.Optimizer, o.Sampling.BatchSize, o.CheckpointSteps, o.EvalEvery = c.rule, 12, c.every, 1
		c.roots.set(&o.Sampling)
		var wantEpochs []EpochStats
		o.OnEpoch = func(e EpochStats) error { wantEpochs = append(wantEpochs, e); return nil }
		want := trained(t, p, o)
		steps := want.Steps
		var epochs []EpochStats
		o.OnEpoch = func(e EpochStats) error { epochs = append(epochs, e); return nil }
		o.CheckpointDir, o.Resume, o.Identity = t.TempDir(), true, "id"
		var got *Result
		stops := 0
		for at := 0; ; stops++ {
			at += 1 + r.IntN(steps/6)
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			got = interrupted(t, tr, &o, &at)
			at = max(at, tr.state.Epochs*tr.roots.steps+tr.state.Batch)
			tr.Close()
			if got.Stopped != fit.Interrupted {
				break
			}
		}
		if stops < 3 || got.WeightsSHA != want.WeightsSHA || got.Steps != want.Steps || got.Edges != want.Edges || got.Rows != want.Rows || got.Bytes != want.Bytes {
			t.Errorf("%s: stopped %d times: %+v, want %+v", name, stops, got.Totals, want.Totals)
		}
		if got.FinalLoss != want.FinalLoss || got.BestEpoch != want.BestEpoch || !reflect.DeepEqual(got.Best, want.Best) || len(epochs) != len(wantEpochs) {
			t.Errorf("%s: %v %v %v, want %v %v %v", name, got.FinalLoss, got.Best, len(epochs), want.FinalLoss, want.Best, len(wantEpochs))
		}
		for i := range min(len(epochs), len(wantEpochs)) {
			if epochs[i].Loss != wantEpochs[i].Loss || epochs[i].Edges != wantEpochs[i].Edges || epochs[i].Usage.H2D != wantEpochs[i].Usage.H2D {
				t.Errorf("%s: epoch %d: loss %v edges %d, %d bytes up, want %v %d %d", name, i, epochs[i].Loss, epochs[i].Edges, epochs[i].Usage.H2D,
					wantEpochs[i].Loss, wantEpochs[i].Edges, wantEpochs[i].Usage.H2D)
			}
		}
	}
}

// A checkpoint whose state is of no such run is an error, wherever it stands.
func TestStatesThatCannotBe(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
	o.Identity = "id"
	for name, spoil := range map[string]func(s *state, steps int){
		"":                     func(*state, int) {},
		"1 epochs, the best 1": func(s *state, _ int) { s.Epochs, s.BestEpoch = 1, 1 },
		"the best -2":          func(s *state, _ int) { s.BestEpoch = -2 },
		"-1 steps":             func(s *state, _ int) { s.Batch = -1 },
		"steps of an epoch of": func(s *state, steps int) { s.Batch = steps + 1 },
		"by 0 of 2 parts":      func(s *state, steps int) { s.Batch = steps },
		"by 1 of 2 parts": func(s *state, _ int) {
			s.Batch, s.Partial.Parts, s.Partial.Computed = 1, make([]gpu.Usage, 1), make([]time.Duration, 2)
		},
		"an epoch by 2 of 2": func(s *state, _ int) {
			s.Partial.Parts, s.Partial.Computed = make([]gpu.Usage, 2), make([]time.Duration, 3)
		},
	} {
		o.CheckpointDir, o.Resume = t.TempDir(), false
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		spoil(&tr.state, tr.roots.steps)
		err = tr.Checkpoint()
		tr.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		o.Resume = true
		tr, err = New(t.Context(), p, o)
		if err == nil {
			tr.Close()
		}
		if name == "" && err != nil || name != "" && (err == nil || !contains(err, name)) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Where the size of caches follows from free memory, a resumed run keeps that of the run that it goes on from: with room for every row, or without.
func TestResumedCachesKeepTheirSize(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, few := range []bool{false, true} {
		begun := func(o Options, few bool) *Trainer {
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range tr.workers {
				if f := w.fetcher; few {
					f.cache.Free()
					if f.slots = 5; f.room() != nil {
						t.Fatal("no room")
					}
				}
			}
			return tr
		}
		o := small(m, devices(t, 2, linked), homes(p.Vertices(), 2))
		o.Sampling.Fetch = rowcache.Rules{Kind: rowcache.Planned}
		never, soon := math.MaxInt, 2
		whole := begun(o, few)
		want := interrupted(t, whole, &o, &never)
		whole.Close()
		o.CheckpointDir, o.Identity = t.TempDir(), "id"
		first := begun(o, few)
		if r := interrupted(t, first, &o, &soon); r.Stopped != fit.Interrupted {
			t.Fatal("not interrupted")
		}
		first.Close()
		o.Resume = true
		second := begun(o, !few)
		got := interrupted(t, second, &o, &never)
		second.Close()
		if got.WeightsSHA != want.WeightsSHA || got.Rows != want.Rows || got.Bytes != want.Bytes || (got.Rows.Evicted > 0) != few {
			t.Errorf("few slots %t: %+v, want %+v", few, got.Rows, want.Rows)
		}
	}
}
