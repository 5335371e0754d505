package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// A run that uses rows of earlier epochs, stopped at any epoch and resumed, has the bits of one that was not; and so it has
// whatever is evaluated or checkpointed in between.
func TestStaleResume(t *testing.T) {
	t.Parallel()
	const parts, epochs = 3, 11
	cases := staleCases()
	for _, as := range []halo.Encoding{halo.BF16, halo.Int8, halo.Int2} {
		cases = append(cases, staleCase{policy: jaca.JACA, local: "30%", global: "40%", staleness: 2, pipeline: true, peers: as == halo.BF16, halo: as})
	}
	taken := takes(t, 4, staleValues(cases))
	for n, c := range cases {
		if !taken[n] {
			continue
		}
		kind := kindOf(n)
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.2, directed: n%2 == 0}.make(t, kind)
			part, devices := scatterParts(p.Vertices(), parts), c.devices(t, parts)
			options := func(edit func(*Options)) func(*Options) {
				return func(o *Options) {
					o.Epochs, o.Cache = epochs, c.cache(t)
					if c.staleness > 0 && n%3 == 1 {
						o.Cache.ExactEpochs = 2
					}
					edit(o)
				}
			}
			train := func(edit func(*Options)) string {
				tr := newTrainer(t, p, m, devices, part, options(edit))
				defer tr.Close()
				return run(t, tr).WeightsSHA
			}
			want := train(func(o *Options) {})
			if n%2 == 0 || long.Wanted() {
				if got := train(func(o *Options) { o.EvalEvery, o.CheckpointEvery, o.CheckpointDir = 1, 1, t.TempDir() }); got != want {
					t.Error("evaluation and checkpoints change bits")
				}
			}
			stops := []int{1 + n/2%2 + (3+n%4)*(n%2)} // in the first epochs or later, by turns
			if long.Wanted() {
				stops = []int{1, 2, 4 + n%5}
			}
			for _, stop := range stops {
				dir := t.TempDir()
				ctx, cancel := context.WithCancel(context.Background())
				tr := newTrainer(t, p, m, devices, part, options(func(o *Options) {
					o.CheckpointDir = dir
					o.OnEpoch = func(e EpochStats) error {
						if e.Epoch == stop-1 {
							cancel()
						}
						return nil
					}
				}))
				if _, err := tr.Run(ctx); err != nil {
					t.Fatal(err)
				}
				tr.Close()
				if got := train(func(o *Options) { o.CheckpointDir, o.Resume, o.EvalEvery = dir, true, stop%2 }); got != want {
					t.Errorf("stopped after %d epochs and resumed: other bits", stop)
				}
			}
		})
	}
}

// Halo rows of another plan are not taken over: all are due once more, and the log says so.
func TestStaleResumeOnAnotherPlan(t *testing.T) {
	const parts = 3
	p, m := task{share: 0.2}.make(t, named.GCN)
	dir, c := t.TempDir(), staleCase{policy: jaca.JACA, local: "auto", global: "auto", staleness: 4}
	options := func(o *Options) { o.Epochs, o.CheckpointDir, o.Cache = 5, dir, c.cache(t) }
	run(t, newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), options))
	for name, edit := range map[string]func(*Options){
		"policy":   func(o *Options) { o.Cache.Policy, o.Cache.Local = jaca.Paper, jaca.Percent(30) },
		"pipeline": func(o *Options) { o.Cache.Pipeline = true },
		"aging":    func(o *Options) { o.Cache.Pipeline, o.Cache.ExactEpochs = true, 7 },
		"parts":    func(o *Options) { o.Part[0] = (o.Part[0] + 1) % parts },
	} {
		var log bytes.Buffer
		tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
			options(o)
			o.Epochs, o.Resume, o.CheckpointDir = 9, true, copyOf(t, dir)
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			edit(o)
		})
		if r := run(t, tr); r.Epochs != 9 || r.Halo.AgeMax > 4 {
			t.Errorf("%s: %d epochs, rows up to %d epochs old", name, r.Epochs, r.Halo.AgeMax)
		}
		if !strings.Contains(log.String(), "due once more") {
			t.Errorf("%s: the log says nothing: %s", name, &log)
		}
	}
}

// copyOf returns a copy of a folder.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
