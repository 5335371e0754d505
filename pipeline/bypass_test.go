package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/internal/long"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Caches with too few hits are left alone for good: from then on every row moves in every epoch. That is said once, depends on
// nothing but the run, and survives a stop.
func TestBypass(t *testing.T) {
	t.Parallel()
	const parts, epochs = 3, 12
	for n, c := range []staleCase{
		{policy: jaca.JACA, local: "30%", global: "40%", staleness: 2},
		{policy: jaca.Paper, local: "30%", global: "40%", staleness: 2, pipeline: true, peers: true},
		{policy: jaca.Paper, local: "20%", global: "60%", staleness: 4, pipeline: true, halo: halo.Int8},
	} {
		kind := gnn.Kinds[n%len(gnn.Kinds)]
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.2, directed: n%2 == 0}.make(t, kind)
			var stats []jaca.Stats
			var log bytes.Buffer
			trainer := func(threshold float64, edit func(*Options)) *Trainer {
				stats = nil
				log.Reset()
				return newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.Cache = epochs, c.cache(t)
					o.Cache.Bypass = threshold
					o.OnEpoch = func(e EpochStats) error { stats = append(stats, e.Halo); return nil }
					o.Log = slog.New(slog.NewTextHandler(&log, nil))
					edit(o)
				})
			}
			none := func(*Options) {}
			plain := run(t, trainer(0, none)).WeightsSHA
			period := c.staleness + 1
			if c.pipeline {
				period--
			}
			hits, mean := stats, 0.0
			for _, s := range hits[1 : 1+period] {
				mean += s.HitRate() / float64(period)
			}
			if got := run(t, trainer(mean*0.99, none)).WeightsSHA; got != plain {
				t.Error("bypassed above the threshold")
			}
			want := run(t, trainer(min(1, mean*1.01), none)).WeightsSHA
			if want == plain || strings.Count(log.String(), "bypassed") != 1 {
				t.Errorf("not bypassed below the threshold: %s", &log)
			}
			lag := 0
			if c.pipeline {
				lag = 1
			}
			for e, s := range stats {
				switch {
				case e <= period && s != hits[e] && !(e == period && c.pipeline): // its last epoch brings rows of the next one
					t.Errorf("epoch %d differs before it is bypassed: %+v, want %+v", e, s, hits[e])
				case e > period && (s.Misses != s.Lookups || s.Lookups != hits[e].Lookups || s.AgeMax > lag):
					t.Errorf("epoch %d: %+v", e, s)
				}
			}
			tr := trainer(1, none)
			replaceByHistory(tr)
			if got := run(t, tr).WeightsSHA; got != want {
				t.Error("weights differ from those with the rows that the schedule names")
			}
			last := period + 3
			if testing.Short() || !long.Wanted() {
				last = period
			}
			// resumed returns the weights of a run that was stopped.
			resumed := func(threshold float64, stop int) string {
				dir := t.TempDir()
				ctx, cancel := context.WithCancel(context.Background())
				tr := trainer(threshold, func(o *Options) {
					o.CheckpointDir = dir
					o.OnEpoch = func(e EpochStats) error {
						if e.Epoch == stop-1 {
							cancel()
						}
						return nil
					}
				})
				if _, err := tr.Run(ctx); err != nil {
					t.Fatal(err)
				}
				return run(t, trainer(threshold, func(o *Options) { o.CheckpointDir, o.Resume = dir, true })).WeightsSHA
			}
			for stop := period - 1; stop <= last; stop++ {
				if resumed(min(1, mean*1.01), stop) != want {
					t.Errorf("stopped after %d epochs: the resumed run has other weights", stop)
				}
			}
			if resumed(mean*0.99, period) != plain {
				t.Error("bypassed above the threshold where the hits before a stop count")
			}
		})
	}
}
