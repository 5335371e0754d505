package pipeline

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/internal/long"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// counts is what an epoch counts: all of it but times.
type counts struct {
	usage gpu.Usage
	halo  jaca.Stats
}

// countsOf returns the counts of an epoch, of all parts together and then by part.
func countsOf(e EpochStats) []counts {
	all := []counts{{e.Usage, e.Halo}}
	for i, u := range e.Parts {
		all = append(all, counts{usage: u})
		if i < len(e.HaloParts) {
			all[i+1].halo = e.HaloParts[i]
		}
	}
	for i := range all {
		clear(all[i].usage.Time[:])
	}
	return all
}

// counterCases are combinations of policy, staleness, pipeline, encoding and ways that count differently.
func counterCases() []staleCase {
	var out []staleCase
	for k, policy := range []jaca.Policy{jaca.JACA, jaca.None, jaca.Paper} {
		for n, s := range []int{0, 1, 4, 8} {
			for _, pipeline := range []bool{false, true} {
				size := [][2]string{{"auto", "auto"}, {"30%", "40%"}, {"0", "50%"}}[(k+n)%3]
				c := staleCase{policy: policy, local: size[0], global: size[1], staleness: s, pipeline: pipeline, peers: (k+n)%2 == 0}
				if n%2 == 1 {
					c.halo = halo.Int8
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// Equal runs count equal bytes, lookups, hits and ages, epoch by epoch and part by part: two that are rerun, one that checkpoints
// and evaluates, and one that was stopped, early or late by turns, and resumed. CAPGNN_LONG=1 stops all cases after any epoch,
// by turns.
func TestCountersOfEqualRuns(t *testing.T) {
	t.Parallel()
	const parts, epochs = 3, 12
	cases := counterCases()
	taken := takes(t, 1, staleValues(cases))
	for n, c := range cases {
		if !taken[n] {
			continue
		}
		stops := []int{[]int{1 + n%3, 5 + n%4}[n/2%2]}
		if long.Wanted() && !testing.Short() {
			k := n + turn(t, 4)
			stops = []int{1 + k%4, 5 + k%4, 9 + k%3}
		}
		kind := kindOf(n)
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.2, directed: n%2 == 0}.make(t, kind)
			part, devices := scatterParts(p.Vertices(), parts), c.devices(t, parts)
			train := func(ctx context.Context, into [][]counts, edit func(*Options)) (*Result, [][]counts) {
				tr := newTrainer(t, p, m, devices, part, func(o *Options) {
					o.Epochs, o.Cache = epochs, c.cache(t)
					if c.staleness > 0 && n%4 < 2 {
						o.Cache.ExactEpochs = 3
					}
					o.OnEpoch = func(e EpochStats) error { into = append(into, countsOf(e)); return nil }
					edit(o)
				})
				defer tr.Close()
				r, err := tr.Run(ctx)
				if err != nil {
					t.Fatal(err)
				}
				return r, into
			}
			result, want := train(t.Context(), nil, func(o *Options) {})
			same := func(name string, r *Result, got [][]counts) {
				t.Helper()
				for e := range want {
					if !slices.Equal(got[e], want[e]) {
						t.Fatalf("%s: epoch %d counts\n%+v, want\n%+v", name, e, got[e], want[e])
					}
				}
				clear(r.Usage.Time[:])
				clear(result.Usage.Time[:])
				if r.Usage != result.Usage || r.Halo != result.Halo || len(got) != len(want) {
					t.Errorf("%s: %d epochs count %+v, %+v, want %+v, %+v", name, len(got), r.Usage, r.Halo, result.Usage, result.Halo)
				}
			}
			r, got := train(t.Context(), nil, func(o *Options) {})
			same("rerun", r, got)
			r, got = train(t.Context(), nil, func(o *Options) { o.CheckpointDir, o.CheckpointEvery, o.EvalEvery = t.TempDir(), 1, 1 })
			same("with checkpoints and evaluations", r, got)
			for _, stop := range stops {
				dir := t.TempDir()
				ctx, cancel := context.WithCancel(t.Context())
				_, got := train(ctx, nil, func(o *Options) {
					record := o.OnEpoch
					o.CheckpointDir = dir
					o.OnEpoch = func(e EpochStats) error {
						if e.Epoch == stop-1 {
							cancel()
						}
						return record(e)
					}
				})
				cancel()
				r, got = train(t.Context(), got, func(o *Options) { o.CheckpointDir, o.Resume, o.EvalEvery = dir, true, stop%2 })
				same(fmt.Sprintf("stopped after %d epochs and resumed", stop), r, got)
			}
		})
	}
}
