package pipeline

import (
	"fmt"
	"testing"

	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// replayOf returns the replay of a trainer's caches. A run without caches is replayed as one of policy none; with is a trainer of the same
// run with caches.
func replayOf(t *testing.T, tr *Trainer, with func() *Trainer) *jaca.Replay {
	t.Helper()
	plan := tr.Caches()
	if plan == nil {
		model := with().Caches()
		var exchanges []jaca.Exchange
		for _, x := range model.Tables {
			exchanges = append(exchanges, x.Exchange)
		}
		var err error
		plan, err = jaca.Build(exchanges, &jaca.Capacities{Local: make([]int, len(tr.workers))}, jaca.Options{Policy: jaca.None, Links: model.Links, Period: tr.halo.Schedules()[0].Period})
		if err != nil {
			t.Fatal(err)
		}
	}
	return jaca.NewReplay(plan, schedulesOf(tr, plan))
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

// What a run counts while it moves rows is what the rules of package jaca say of it, epoch by epoch: lookups, hits, bytes by
// route, refresh, ages. With the pipeline the first epoch moves rows for itself and for the second: only there bytes may be more.
func TestStatsEqualReplay(t *testing.T) {
	t.Parallel()
	const parts, epochs = 4, 11
	cases := staleCases()
	for n, c := range staleCases() {
		if c.staleness == 1 {
			c.staleness = 0
			c.halo = halo.Encoding(n / 3 % 3)
			cases = append(cases, c)
		}
	}
	kinds := behindTheFirst() // the first layer of the others exchanges rows, which never have slots and which a replay does not know
	taken := takes(t, 3, staleValues(cases))
	for n, c := range cases {
		kind := kinds[(n+n/4)%len(kinds)]
		if !taken[n] {
			continue
		}
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.2, directed: n%2 == 0}.make(t, kind)
			part := scatterParts(p.Vertices(), parts)
			var got []jaca.Stats
			options := func(o *Options) {
				o.Epochs, o.Cache = epochs, c.cache(t)
				o.OnEpoch = func(e EpochStats) error { got = append(got, e.Halo); return nil }
			}
			tr := newTrainer(t, p, m, c.devices(t, parts), part, options)
			replay := replayOf(t, tr, func() *Trainer {
				return newTrainer(t, p, m, c.devices(t, parts), part, func(o *Options) {
					options(o)
					if o.Cache.Policy = jaca.Paper; !tr.Ages() {
						o.Cache.Staleness = 0 // the order of operations is that of fresh rows
					}
				})
			})
			run(t, tr)
			for epoch, have := range got {
				want := replay.Epoch(epoch)
				if b := have.Bytes; epoch == 0 && c.pipeline && b.D2H >= want.Bytes.D2H && b.H2D >= want.Bytes.H2D && b.Peer >= want.Bytes.Peer {
					have.Bytes = want.Bytes
				}
				if have != want {
					t.Errorf("epoch %d:\n%+v, replayed\n%+v", epoch, have, want)
				}
			}
		})
	}
}
