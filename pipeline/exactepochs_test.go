package pipeline

import (
	"fmt"
	"testing"
)

// Exact epochs use rows of their own; behind them rows get as old as the bound allows, and those in use are the schedule's.
func TestExactEpochs(t *testing.T) {
	t.Parallel()
	const exact, parts = 3, 3
	cases := staleCases()
	taken := takes(t, 3, staleValues(cases))
	for n, c := range cases {
		if !taken[n] {
			continue
		}
		kind := kindOf(n)
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.3}.make(t, kind)
			most := map[bool]int{}
			trainer := func() *Trainer {
				return newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.EvalEvery, o.Cache = 11, 2, c.cache(t)
					o.Cache.ExactEpochs = exact
					o.OnEpoch = func(e EpochStats) error {
						early := e.Epoch < exact
						most[early] = max(most[early], e.Halo.AgeMax)
						return nil
					}
				})
			}
			tr, slots := trainer(), 0
			want := run(t, tr).WeightsSHA
			if caches := tr.Caches(); caches != nil {
				for _, table := range caches.Tables {
					slots += table.Slots()
				}
			}
			oldest := c.staleness
			if slots == 0 {
				oldest = 0 // rows without a slot are renewed in every epoch
				if c.pipeline {
					oldest = 1
				}
			}
			if most[true] != 0 || most[false] != oldest {
				t.Errorf("rows are up to %d epochs old in exact epochs, up to %d behind them, want 0 and %d", most[true], most[false], oldest)
			}
			plain := trainer()
			replaceByHistory(plain)
			if run(t, plain).WeightsSHA != want {
				t.Error("other rows than the schedule's")
			}
		})
	}
}
