package pipeline

import (
	"fmt"
	"testing"

	"capgnn/gnn"
	"capgnn/jaca"
)

// replayOf returns the replay of a trainer's caches. A run without caches is replayed as one of policy none, which lay must be
// the layout of.
func replayOf(t *testing.T, tr *Trainer, lay *Layout) *jaca.Replay {
	t.Helper()
	plan := tr.caches
	if plan == nil {
		u := *tr
		u.layout = lay
		exchanges := planner{&u}.cacheExchanges()
		var err error
		plan, err = jaca.Build(exchanges, &jaca.Capacities{Local: make([]int, len(tr.workers))}, jaca.Options{Policy: jaca.None, Links: planner{tr}.links(), Period: tr.traffic[0].schedule().Period})
		if err != nil {
			t.Fatal(err)
		}
	}
	var schedules []jaca.Schedule
	for _, l := range tr.traffic {
		if l.layer > 0 {
			schedules = append(schedules, l.schedule())
		}
	}
	return jaca.NewReplay(plan, schedules)
}

// What a run counts while it moves rows is what the rules of package jaca say of it, epoch by epoch: lookups, hits, bytes by
// route, refresh, ages. With the pipeline the first epoch moves rows for itself and for the second: only there bytes may be more.
func TestStatsEqualReplay(t *testing.T) {
	const parts, epochs = 4, 11
	cases := append(staleCases(), dynamicCases()...)
	for n, c := range append(staleCases(), dynamicCases()...) {
		if c.staleness == 1 {
			c.staleness = 0
			c.halo = Encoding(n / 3 % 3)
			cases = append(cases, c)
		}
	}
	for n, c := range cases {
		kind := gnn.Kinds[(n+n/4)%len(gnn.Kinds)]
		if testing.Short() && n%5 != 0 {
			continue
		}
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.2, directed: n%2 == 0}.make(t, kind)
			part := scatterParts(p.Vertices(), parts)
			var got []jaca.Stats
			var lay *Layout
			options := func(o *Options) {
				o.Epochs, o.Cache = epochs, c.cache(t)
				o.OnEpoch = func(e EpochStats) error { got = append(got, e.Halo); return nil }
				if lay == nil {
					var err error
					if lay, err = NewLayout(p, *o, parts); err != nil {
						t.Fatal(err)
					}
				}
				o.Layout = lay
			}
			tr := newTrainer(t, p, m, c.devices(t, parts), part, options)
			replay := replayOf(t, tr, lay)
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
