package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/internal/long"
	"capgnn/internal/named"
)

// errStop stands for a crash: the run ends at once, without a last checkpoint.
var errStop = errors.New("stop")

// diesAfter has a run crash behind an epoch.
func diesAfter(epoch int) func(*Options) {
	return func(o *Options) {
		o.OnEpoch = func(e EpochStats) error {
			if e.Epoch == epoch {
				return errStop
			}
			return nil
		}
	}
}

// crash runs a trainer until it does as diesAfter says.
func crash(t *testing.T, tr *Trainer) {
	t.Helper()
	if _, err := tr.Run(context.Background()); !errors.Is(err, errStop) {
		t.Fatalf("run ended with %v", err)
	}
}

// A run that dies after any epoch and is resumed equals one that did not, bit for bit.
func TestResume(t *testing.T) {
	t.Parallel()
	t.Run("whole", func(t *testing.T) { testResume(t, 0) })
	t.Run("pruned", func(t *testing.T) { testResume(t, 0.5) })
}

// testResume is TestResume of runs in which parts do without a share of their replicas.
func testResume(t *testing.T, pruned float64) {
	for k, kind := range kinds(t) {
		for n, opt := range []gnn.Optimizer{{Kind: gnn.Adam, LR: 0.01},
			{Kind: gnn.AdamW, LR: 0.01, WeightDecay: 0.01, AMSGrad: true}, {Kind: gnn.SGD, LR: 0.1}} {
			p, m := task{share: 0.3}.make(t, kind)
			part := scatterParts(p.Vertices(), 2)
			dropped := dropReplicas(p.Graph, part, 2, pruned)
			devices := cpus(t, 2)
			options := func(dir string, edit func(*Options)) func(*Options) {
				return func(o *Options) {
					o.Optimizer, o.Epochs, o.EvalEvery, o.Identity = opt, 9, 2, "id"
					o.CheckpointDir, o.CheckpointEvery = dir, 3
					o.Dropped = dropped
					if edit != nil {
						edit(o)
					}
				}
			}
			want := run(t, newTrainer(t, p, m, devices, part, options(t.TempDir(), nil)))
			for i, dies := range []int{0, 3, 4, 7} {
				if (k+n+i)%2 > 0 && !long.Wanted() {
					continue
				}
				dir := t.TempDir()
				crash(t, newTrainer(t, p, m, devices, part, options(dir, diesAfter(dies))))
				got := run(t, newTrainer(t, p, m, devices, part, options(dir, func(o *Options) { o.Resume = true })))
				if got.WeightsSHA != want.WeightsSHA || got.BestEpoch != want.BestEpoch ||
					got.FinalLoss != want.FinalLoss ||
					!slices.Equal(got.BestWeights.Flat, want.BestWeights.Flat) || *got.Best.Test != *want.Best.Test {
					t.Errorf("%s, %s, died after epoch %d: the resumed run differs", kind, opt.Kind, dies)
				}
			}
		}
	}
}

// Cancelling finishes the epoch and checkpoints; resuming goes on to the same bits.
func TestInterrupt(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	part := scatterParts(p.Vertices(), 3)
	devices := cpus(t, 3)
	want := run(t, newTrainer(t, p, m, devices, part, func(o *Options) { o.Epochs = 8 }))
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	tr := newTrainer(t, p, m, devices, part, func(o *Options) {
		o.Epochs, o.CheckpointDir = 8, dir
		o.OnEpoch = func(e EpochStats) error {
			if e.Epoch == 4 {
				cancel()
			}
			return nil
		}
	})
	r, err := tr.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r.Stopped != "interrupted" || r.Epochs != 5 {
		t.Fatalf("stopped %q after %d epochs, want interrupted after 5", r.Stopped, r.Epochs)
	}
	got := run(t, newTrainer(t, p, m, devices, part,
		func(o *Options) { o.Epochs, o.CheckpointDir, o.Resume = 8, dir, true }))
	if got.WeightsSHA != want.WeightsSHA {
		t.Error("the resumed run has other weights")
	}
}

// A damaged checkpoint is skipped for the one before it, and the run still ends with the same bits.
func TestDamagedCheckpoint(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	part, dir := scatterParts(p.Vertices(), 2), t.TempDir()
	options := func(resume bool) func(*Options) {
		return func(o *Options) { o.Epochs, o.CheckpointDir, o.CheckpointEvery, o.Resume = 6, dir, 2, resume }
	}
	devices := cpus(t, 2)
	want := run(t, newTrainer(t, p, m, devices, part, options(false)))
	files, err := filepath.Glob(filepath.Join(dir, "*.ckpt"))
	if err != nil || len(files) != 2 {
		t.Fatalf("checkpoints %v, %v; want 2", files, err)
	}
	slices.Sort(files)
	raw, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(files[1], raw, 0o644); err != nil {
		t.Fatal(err)
	}
	tr := newTrainer(t, p, m, devices, part, options(true))
	if tr.State.Epochs != 4 {
		t.Errorf("resumed after %d epochs, want 4", tr.State.Epochs)
	}
	if got := run(t, tr); got.WeightsSHA != want.WeightsSHA {
		t.Error("the resumed run has other weights")
	}
}
