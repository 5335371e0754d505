package pipeline

import (
	"fmt"
	"testing"

	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// dynamicCases are combinations of policies that decide while rows are read; the smallest caches change hands many times in
// every exchange.
func dynamicCases() []staleCase {
	var out []staleCase
	for _, policy := range []jaca.Policy{jaca.FIFO, jaca.LRU, jaca.SIEVE} {
		for k, size := range [][2]string{{"auto", "auto"}, {"30%", "40%"}, {"0", "50%"}, {"50%", "0"}, {"3", "2"}, {"0", "1"}} {
			for _, s := range []int{1, 2, 4} {
				for _, peers := range []bool{false, true} {
					out = append(out, staleCase{policy: policy, local: size[0], global: size[1], staleness: s, peers: peers, halo: halo.Encoding((k + s) % 3)})
				}
			}
		}
	}
	return out
}

// versions returns the epoch of every row that the lookups of an independent replay name; nil with a policy that keeps its rows.
func versions(tr *Trainer) func(id halo.ID, epoch, part, halo int) int {
	plan := tr.Caches()
	if plan == nil || plan.Policy.Static() {
		return nil
	}
	type row struct {
		id                halo.ID
		epoch, part, halo int
	}
	of := map[row]int{}
	replay := jaca.NewReplay(plan, schedulesOf(tr, plan))
	for epoch := range tr.o.Epochs {
		for e, t := range plan.Tables {
			id := halo.ID{Layer: t.Layer, Dir: t.Dir}
			replay.Exchange(e, epoch, func(x jaca.Lookup) { of[row{id, epoch, x.Part, int(x.Halo)}] = x.Version })
		}
	}
	return func(id halo.ID, epoch, part, halo int) int { return of[row{id, epoch, part, halo}] }
}

// schedulesOf returns the schedules of the exchanges of a plan.
func schedulesOf(tr *Trainer, plan *jaca.Plan) []jaca.Schedule {
	var out []jaca.Schedule
	all := tr.halo.Schedules()
	for k, at := range tr.workers[0].trainHalo.(*halo.Exchange).Placements() {
		if tableOf(plan, at.ID) != nil {
			out = append(out, all[k])
		}
	}
	return out
}

// Rows that change slots in every epoch: the weights are those of the plain truth, which takes every row in the version that the
// lookups name.
func TestDynamicRowsAreThoseOfTheLookups(t *testing.T) {
	t.Parallel()
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
