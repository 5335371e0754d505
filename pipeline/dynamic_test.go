package pipeline

import (
	"fmt"
	"testing"

	"capgnn/jaca"
)

// dynamicCases are combinations of policies that decide while rows are read; the smallest caches change hands many times in
// every exchange.
func dynamicCases() []staleCase {
	var out []staleCase
	for _, policy := range []jaca.Policy{jaca.FIFO, jaca.LRU, jaca.SIEVE} {
		for k, size := range [][2]string{{"auto", "auto"}, {"30%", "40%"}, {"0", "50%"}, {"50%", "0"}, {"3", "2"}, {"0", "1"}} {
			for _, s := range []int{1, 2, 4} {
				for _, peers := range []bool{false, true} {
					out = append(out, staleCase{policy: policy, local: size[0], global: size[1], staleness: s, peers: peers, halo: Encoding((k + s) % 3)})
				}
			}
		}
	}
	return out
}

// versions returns the epoch of every row that the lookups of an independent replay name, for the epoch under way.
func versions(tr *Trainer) func(r *relay, halo int) int {
	if tr.dynamic == nil {
		return nil
	}
	type row struct {
		leg               exchangeID
		epoch, part, halo int
	}
	of := map[row]int{}
	var exchanges []exchangeID
	var schedules []jaca.Schedule
	for _, l := range tr.traffic {
		if l.layer > 0 {
			exchanges, schedules = append(exchanges, l.exchangeID), append(schedules, l.schedule())
		}
	}
	replay := jaca.NewReplay(tr.caches, schedules)
	for epoch := range tr.o.Epochs {
		for e, l := range exchanges {
			replay.Exchange(e, epoch, func(x jaca.Lookup) { of[row{l, epoch, x.Part, int(x.Halo)}] = x.Version })
		}
	}
	return func(r *relay, halo int) int { return of[row{r.exchangeID, r.hub.Epoch, r.ep.index, halo}] }
}

// Rows that change slots in every epoch: the weights are those of the plain truth, which takes every row in the version that the
// lookups name.
func TestDynamicRowsAreThoseOfTheLookups(t *testing.T) {
	const parts, epochs = 3, 9
	cases := dynamicCases()
	taken := takes(t, 3, staleValues(cases))
	for n, c := range cases {
		if !taken[n] {
			continue
		}
		kind := kindOf(n)
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.2, directed: n%2 == 0}.make(t, kind)
			hashes := [2]string{}
			for k := range hashes {
				tr := newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.Cache = epochs, c.cache(t)
				})
				if k == 1 {
					replaceByHistory(tr)
				}
				hashes[k] = run(t, tr).WeightsSHA
			}
			if hashes[0] != hashes[1] {
				t.Error("weights differ from those with the rows that the lookups name")
			}
		})
	}
}
