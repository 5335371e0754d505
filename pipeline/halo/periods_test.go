package halo

import (
	"fmt"
	"slices"
	"testing"

	"capgnn/jaca"
)

// Every schedule that a run may have, after what changes it, by exchange: features, a layer that ages, one that does not.
func TestPeriods(t *testing.T) {
	exchanges := []traffic{{ID: ID{Layer: 0}}, {ID: ID{Layer: 1}, ages: true}, {ID: ID{Layer: 2}}, {ID: ID{Layer: 1, Dir: 1}, ages: true}}
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
		"adaptive":              {Options{Staleness: jaca.Staleness{Bound: 8, EPS: 0.1}}, none, s{Period: 1}, s{Period: 2}, s{Period: 1}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := newPeriods(&c.cache, exchanges)
			if err != nil {
				t.Fatal(err)
			}
			c.do(p)
			want := []s{c.features, c.aging, c.fixed, c.aging}
			var got []s
			for k := range exchanges {
				got = append(got, p.at(k))
			}
			if !slices.Equal(got, want) || p.largest() != c.largest {
				t.Errorf("%v, largest %d, want %v, %d", got, p.largest(), want, c.largest)
			}
			for _, x := range want {
				if !p.cold(x.Start) {
					t.Errorf("epoch %d, which begins a schedule, is not cold", x.Start)
				}
			}
			if p.cold(4) || fmt.Sprint(p.aging()) != "[1]" {
				t.Errorf("epoch 4 is cold: %t; layers %v age", p.cold(4), p.aging())
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

// Where periods adapt, an exchange of a layer that drifts much gets the controller's schedule when it is put into force, in both
// directions; the others keep theirs.
func TestPeriodsAdapt(t *testing.T) {
	exchanges := []traffic{{ID: ID{Layer: 0}}, {ID: ID{Layer: 1}, ages: true}, {ID: ID{Layer: 2}, ages: true}, {ID: ID{Layer: 1, Dir: 1}, ages: true}}
	p, err := newPeriods(&Options{Staleness: jaca.Staleness{Bound: 8, EPS: 0.1}}, exchanges)
	if err != nil {
		t.Fatal(err)
	}
	first := slices.Clone(p.now)
	changed := false
	for epoch := 0; !changed && epoch < 20; epoch++ {
		if looks, _ := p.controller.ShouldSample(1, epoch); looks {
			changed = p.controller.Observe(epoch, 1, 1, 10)
		}
	}
	if !changed || !slices.Equal(p.now, first) {
		t.Fatalf("changed %t, %v before it is in force", changed, p.now)
	}
	p.adopt(1)
	want := p.controller.Schedule(1)
	if want.Period >= first[1].Period || p.at(1) != want || p.at(3) != want || p.at(0) != first[0] || p.at(2) != first[2] {
		t.Errorf("%v, want %v for layer 1, before it %v", p.now, want, first)
	}
}
