package halo

import (
	"slices"
	"testing"

	"capgnn/jaca"
)

// Every schedule that a run may have, after what changes it, by exchange: features, a layer that ages, one that does not.
func TestPeriods(t *testing.T) {
	exchanges := []traffic{{ID: ID{Layer: 0}, still: true}, {ID: ID{Layer: 1}, ages: true}, {ID: ID{Layer: 2}}, {ID: ID{Layer: 1, Dir: 1}, ages: true}, {ID: ID{Layer: 0, Dir: 1}}}
	type s = jaca.Schedule
	none := func(*periods) {}
	for name, c := range map[string]struct {
		cache    Options
		do       func(p *periods)
		features s
		aging    s
		fixed    s // of a layer whose rows do not age
		largest  int
	}{
		"exact":                 {Options{}, none, s{Period: 1}, s{Period: 1}, s{Period: 1}, 1},
		"stale":                 {Options{Staleness: jaca.Staleness{Bound: 3}}, none, s{Period: 4}, s{Period: 4}, s{Period: 1}, 4},
		"pipeline":              {Options{Staleness: jaca.Staleness{Bound: 3}, Pipeline: true}, none, s{Period: 3, Lag: 1}, s{Period: 3, Lag: 1}, s{Period: 1}, 3},
		"exact at first":        {Options{Staleness: jaca.Staleness{Bound: 2}, ExactEpochs: 5}, none, s{Period: 1}, s{Period: 1}, s{Period: 1}, 3},
		"not yet behind them":   {Options{Staleness: jaca.Staleness{Bound: 2}, ExactEpochs: 5}, func(p *periods) { p.beginAging(4) }, s{Period: 1}, s{Period: 1}, s{Period: 1}, 3},
		"behind them":           {Options{Staleness: jaca.Staleness{Bound: 2}, ExactEpochs: 5}, func(p *periods) { p.beginAging(5) }, s{Period: 1}, s{Period: 3, Start: 5}, s{Period: 1}, 3},
		"bypassed":              {Options{Staleness: jaca.Staleness{Bound: 2}, Pipeline: true}, func(p *periods) { p.bypass(7) }, s{Period: 2, Lag: 1}, s{Period: 1, Lag: 1, Start: 7}, s{Period: 1}, 2},
		"restarted":             {Options{Staleness: jaca.Staleness{Bound: 2}}, func(p *periods) { p.restart(9) }, s{Period: 3, Start: 9}, s{Period: 3, Start: 9}, s{Period: 1, Start: 9}, 3},
		"restarted while exact": {Options{Staleness: jaca.Staleness{Bound: 2}, ExactEpochs: 5}, func(p *periods) { p.restart(2) }, s{Period: 1, Start: 2}, s{Period: 1, Start: 2}, s{Period: 1, Start: 2}, 3},
		"adaptive":              {Options{Staleness: adaptive, Pipeline: true}, none, s{Period: 1}, s{Period: 1}, s{Period: 1}, 16},
		"adaptive, restarted":   {Options{Staleness: adaptive, Pipeline: true}, func(p *periods) { p.ladder.Climb(); p.adopt(); p.restart(6) }, s{Period: 1, Start: 6}, s{Period: 1, Start: 6}, s{Period: 1, Start: 6}, 16},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := newPeriods(&c.cache, exchanges)
			if err != nil {
				t.Fatal(err)
			}
			c.do(p)
			want := []s{c.features, c.aging, c.fixed, c.aging, c.fixed}
			var got []s
			for k := range exchanges {
				got = append(got, p.at(k))
			}
			if !slices.Equal(got, want) || p.largest()[0] != c.largest {
				t.Errorf("%v, largest %d, want %v, %d", got, p.largest(), want, c.largest)
			}
			for _, x := range want {
				if !p.cold(x.Start) {
					t.Errorf("epoch %d, which begins a schedule, is not cold", x.Start)
				}
			}
			if p.cold(4) {
				t.Error("epoch 4 is cold")
			}
			p.resume(2, s{Period: 2, Start: 4})
			if p.at(2) != (s{Period: 2, Start: 4}) || !p.cold(4) {
				t.Errorf("resumed with %v", p.at(2))
			}
		})
	}
	if got := (*periods)(nil).at(3); got != (s{Period: 1}) {
		t.Errorf("evaluations have %v", got)
	}
}

// adaptive is the staleness that a ladder chooses.
var adaptive = jaca.Staleness{Bound: jaca.MaxStaleness, Adaptive: true}

// Where periods adapt, all exchanges of layers that age get the ladder's schedule, the others keep theirs; a probe's first run holds what was in force, and its
// end makes all rows due.
func TestPeriodsAdapt(t *testing.T) {
	exchanges := []traffic{{ID: ID{Layer: 0}}, {ID: ID{Layer: 1}, ages: true}, {ID: ID{Layer: 2}, ages: true}, {ID: ID{Layer: 3}}, {ID: ID{Layer: 1, Dir: 1}, ages: true}}
	periods, err := newPeriods(&Options{Staleness: adaptive, Pipeline: true}, exchanges)
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{periods: periods}
	in := func(want jaca.Schedule) {
		t.Helper()
		for k, x := range exchanges {
			w := jaca.Schedule{Period: 1}
			if x.ages {
				w = want
			}
			if got := periods.at(k); got != w {
				t.Errorf("exchange %d: %+v, want %+v", k, got, w)
			}
		}
	}
	for epoch := range 6 {
		in(jaca.Schedule{Period: 1})
		if p.Probes(epoch) {
			t.Errorf("epoch %d probes with fresh rows", epoch)
		}
		p.EndEpoch(epoch, 1, nil)
	}
	in(jaca.Schedule{Period: 8, Lag: 1, Start: 6})
	for epoch := 6; epoch < 10; epoch++ {
		p.EndEpoch(epoch, 1, nil)
	}
	if p.BeginProbe(); !p.Probes(10) || !periods.probing {
		t.Error("epoch 10 does not probe")
	}
	in(jaca.Schedule{Period: 8, Lag: 1, Start: 6})
	p.EndProbe(10)
	in(jaca.Schedule{Period: 8, Lag: 1, Start: 10})
	p.EndEpoch(10, 1, []jaca.Harm{{Layer: 0, Rho: 1, Noise: 0.5}})
	if in(jaca.Schedule{Period: 1, Start: 11}); periods.probing || p.Period() != 0 {
		t.Errorf("probing %t, period %d", periods.probing, p.Period())
	}
}
