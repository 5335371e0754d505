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
		"stale":                 {Options{Staleness: 3}, none, s{Period: 4}, s{Period: 4}, s{Period: 1}, 4},
		"pipeline":              {Options{Staleness: 3, Pipeline: true}, none, s{Period: 3, Lag: 1}, s{Period: 3, Lag: 1}, s{Period: 1}, 3},
		"exact at first":        {Options{Staleness: 2, ExactEpochs: 5}, none, s{Period: 1}, s{Period: 1}, s{Period: 1}, 3},
		"not yet behind them":   {Options{Staleness: 2, ExactEpochs: 5}, func(p *periods) { p.beginAging(4) }, s{Period: 1}, s{Period: 1}, s{Period: 1}, 3},
		"behind them":           {Options{Staleness: 2, ExactEpochs: 5}, func(p *periods) { p.beginAging(5) }, s{Period: 1}, s{Period: 3, Start: 5}, s{Period: 1}, 3},
		"restarted":             {Options{Staleness: 2}, func(p *periods) { p.restart(9) }, s{Period: 3, Start: 9}, s{Period: 3, Start: 9}, s{Period: 1, Start: 9}, 3},
		"restarted while exact": {Options{Staleness: 2, ExactEpochs: 5}, func(p *periods) { p.restart(2) }, s{Period: 1, Start: 2}, s{Period: 1, Start: 2}, s{Period: 1, Start: 2}, 3},
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
			if !slices.Equal(got, want) || p.fixed.Period != c.largest {
				t.Errorf("%v, largest %d, want %v, %d", got, p.fixed.Period, want, c.largest)
			}
			p.resume(2, s{Period: 2, Start: 4})
			if p.at(2) != (s{Period: 2, Start: 4}) {
				t.Errorf("resumed with %v", p.at(2))
			}
		})
	}
	if got := (*periods)(nil).at(3); got != (s{Period: 1}) {
		t.Errorf("evaluations have %v", got)
	}
}
