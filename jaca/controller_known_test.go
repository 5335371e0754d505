package jaca

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

// atPeriod returns a controller whose layer 1 has been at a period since epoch 100.
func atPeriod(t testing.TB, eps float64, max int, pipeline bool, period int) *Controller {
	c := mustController(t, eps, max, pipeline)
	c.layers[0].Period = period
	c.Restart(100)
	return c
}

// TestControllerFalls: one observation above EPS. The period falls to the half, or further to where drift in proportion to time
// is under EPS, or to the least; drift over part of a period counts as it is, drift over more in proportion.
func TestControllerFalls(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tc := range []struct {
		pipeline             bool
		period, epochs, want int
		q90                  float64
	}{
		{true, 16, 16, 16, 0.1}, {true, 16, 16, 8, 0.11}, {true, 16, 16, 8, 0.2}, {true, 16, 16, 4, 0.21}, {true, 16, 16, 1, 1.6}, {true, 16, 16, 0, 1.7},
		{true, 16, 4, 2, 0.101}, {true, 16, 4, 2, 0.2}, {true, 16, 4, 16, 0.09}, {true, 16, 32, 16, 0.2}, {true, 16, 32, 8, 0.3},
		{true, 2, 2, 1, 0.15}, {true, 2, 2, 0, 0.25}, {true, 1, 1, 0, 0.11}, {true, 1, 1, 1, 0.1}, {true, 0, 1, 0, 5}, {true, 16, 16, 0, nan}, {true, 8, 8, 0, inf},
		{false, 16, 16, 8, 0.11}, {false, 16, 16, 1, 9}, {false, 2, 2, 1, 0.15}, {false, 1, 1, 1, 0.5}, {false, 8, 3, 1, nan},
	} {
		c := atPeriod(t, 0.1, MaxStaleness, tc.pipeline, tc.period)
		epoch := 100 + tc.epochs
		changed := c.Observe(epoch, 1, tc.epochs, tc.q90)
		if got := periodOf(c); got != tc.want || changed != (tc.want != tc.period) {
			t.Errorf("pipeline %v, period %d, %g over %d epochs: period %d, changed %v, want %d", tc.pipeline, tc.period, tc.q90, tc.epochs, got, changed, tc.want)
		}
		if start := c.Schedule(1).Start; changed && start != epoch+1 || !changed && start != 100 {
			t.Errorf("pipeline %v, period %d: starts in epoch %d", tc.pipeline, tc.period, start)
		}
	}
}

// TestControllerRises follows one layer at period 4 (EPS 0.1, so drift must stay at 0.07 over 8 epochs): rises after 5 quiet
// periods, and each disturbance counts anew from there.
func TestControllerRises(t *testing.T) {
	type seen struct {
		epoch, epochs int
		q90           float64
	}
	every := func(from, to, epochs int, q90 float64) (list []seen) {
		for e := from; e <= to; e += 4 {
			list = append(list, seen{e, epochs, q90})
		}
		return list
	}
	for name, tc := range map[string]struct {
		list []seen
		want int // epoch in which the period rises, 0 = never
	}{
		"over one period":            {every(104, 140, 4, 0.034), 120},
		"twice that is too much":     {every(104, 140, 4, 0.036), 0},
		"over two periods":           {every(108, 140, 8, 0.069), 120},
		"too much over two":          {every(108, 140, 8, 0.071), 0},
		"parts of periods":           {every(102, 140, 2, 0.001), 0},
		"longer than the next":       {every(112, 140, 12, 0.001), 0},
		"loud once":                  {append(every(104, 108, 4, 0.034), append([]seen{{112, 4, 0.06}}, every(116, 140, 4, 0.034)...)...), 132},
		"over two beats one":         {append([]seen{{104, 4, 0.07}}, every(108, 140, 8, 0.065)...), 120},
		"one is no more asked after": {append([]seen{{108, 8, 0.06}, {112, 4, 0.065}}, every(116, 140, 8, 0.06)...), 120},
		"from before the start":      {append([]seen{{102, 8, 0.06}}, every(104, 140, 8, 0.06)...), 120},
		"of the epoch before":        {append([]seen{{99, 8, 9}}, every(104, 140, 4, 0.034)...), 120},
	} {
		c := atPeriod(t, 0.1, MaxStaleness, true, 4)
		rose := 0
		for _, s := range tc.list {
			if c.Observe(s.epoch, 1, s.epochs, s.q90) {
				rose = s.epoch
				break
			}
		}
		if rose != tc.want || rose > 0 && c.Schedule(1) != (Schedule{Period: 8, Lag: 1, Start: rose + 1}) {
			t.Errorf("%s: rose in epoch %d, want %d; %+v", name, rose, tc.want, c.Schedule(1))
		}
	}
}

// TestControllerFloor: at the least period drift above EPS changes nothing, but 5 quiet epochs count from there.
func TestControllerFloor(t *testing.T) {
	for _, pipeline := range []bool{false, true} {
		c := mustController(t, 0.1, 8, pipeline)
		c.layers[0].Period = c.least()
		for epoch := 1; epoch < 20; epoch++ {
			q90 := 0.03
			if epoch == 4 {
				q90 = 0.2
			}
			if changed := c.Observe(epoch, 1, 1, q90); changed != (epoch == 9) {
				t.Fatalf("pipeline %v, epoch %d: changed %v", pipeline, epoch, changed)
			}
			if epoch == 9 {
				break
			}
		}
	}
}

// TestControllerPeriods: the periods that there are, by MAX and pipeline, and where layers begin; none breaks the bound.
func TestControllerPeriods(t *testing.T) {
	for _, tc := range []struct {
		max      int
		pipeline bool
		want     []int
	}{
		{1, true, []int{0, 1}}, {2, true, []int{0, 1, 2}}, {3, true, []int{0, 1, 2}}, {15, true, []int{0, 1, 2, 4, 8}}, {16, true, []int{0, 1, 2, 4, 8, 16}},
		{1, false, []int{1, 2}}, {2, false, []int{1, 2}}, {3, false, []int{1, 2, 4}}, {14, false, []int{1, 2, 4, 8}}, {15, false, []int{1, 2, 4, 8, 16}}, {16, false, []int{1, 2, 4, 8, 16}},
	} {
		c := mustController(t, 0.1, tc.max, tc.pipeline)
		if got := c.periods(); !reflect.DeepEqual(got, tc.want) || c.Largest() != tc.want[len(tc.want)-1] || periodOf(c) != tc.want[1] {
			t.Errorf("MAX %d, pipeline %v: periods %v from %d to %d, want %v", tc.max, tc.pipeline, got, periodOf(c), c.Largest(), tc.want)
		}
		for _, p := range tc.want {
			if s := c.schedule(p, 0); s.Bound() > tc.max || p == 0 && s.Bound() != 0 {
				t.Errorf("MAX %d, pipeline %v: period %d has bound %d", tc.max, tc.pipeline, p, s.Bound())
			}
		}
	}
	for _, bad := range []struct {
		eps    float64
		max    int
		layers []int
	}{{0, 4, nil}, {-1, 4, nil}, {math.NaN(), 4, nil}, {math.Inf(1), 4, nil}, {0.1, 0, nil}, {0.1, 17, nil}, {0.1, 4, []int{1, 2, 1}}} {
		if _, err := NewController(bad.eps, bad.max, true, bad.layers); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// TestControllerLayers: a layer's period is its own.
func TestControllerLayers(t *testing.T) {
	c, err := NewController(0.1, 4, true, []int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	for epoch := 1; epoch <= 20; epoch++ {
		c.Observe(epoch, 1, 1, 0.01)
		c.Observe(epoch, 2, 1, 0.09)
	}
	if a, b := c.Schedule(1), c.Schedule(2); a != (Schedule{Period: 2, Lag: 1, Start: 6}) || b != (Schedule{Period: 1, Lag: 1}) {
		t.Errorf("%+v, %+v", a, b)
	}
}

// TestControllerPauses: rows that drift by far too much at the least period are looked at in two epochs in a row, ever more rarely;
// once they are quiet in every epoch, and the period rises after the fifth.
func TestControllerPauses(t *testing.T) {
	for _, pipeline := range []bool{false, true} {
		c := mustController(t, 0.1, 8, pipeline)
		c.layers[0].Period = c.least()
		var looked []int
		seen, rose := -2, 0
		for epoch := 1; epoch < 300 && rose == 0; epoch++ {
			looks, anew := c.ShouldSample(1, epoch)
			if !looks {
				continue
			}
			looked = append(looked, epoch)
			if anew == (seen == epoch-1) && epoch > 1 {
				t.Fatalf("pipeline %v, epoch %d: anew %v, looked at in epoch %d", pipeline, epoch, anew, seen)
			}
			if seen = epoch; anew {
				continue
			}
			q90 := 0.3
			if epoch == 1 || epoch > 150 {
				q90 = 0.03
			}
			if c.Observe(epoch, 1, 1, q90) {
				rose = epoch
			}
		}
		want := []int{1, 2, 4, 5, 9, 10, 18, 19, 35, 36, 68, 69, 101, 102, 134, 135, 167, 168, 169, 170, 171, 172}
		if !reflect.DeepEqual(looked, want) || rose != 172 {
			t.Errorf("pipeline %v: looked at in %v, rose in %d, want %v", pipeline, looked, rose, want)
		}
	}
}

// TestControllerState stops a run in each epoch and goes on with a controller that was restored from JSON.
func TestControllerState(t *testing.T) {
	for k := range 4 {
		p, pipeline := processes()[[]string{"waves", "bursts"}[k/2]], k%2 == 1
		all := p.run(120)
		want := simulate(t, mustController(t, 0.05, 8, pipeline), all, whole)
		c, got := mustController(t, 0.05, 8, pipeline), outcome{}
		var track Track
		for epoch, rows := range all {
			state, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := json.Marshal(track)
			if err != nil {
				t.Fatal(err)
			}
			c, track = mustController(t, 0.05, 8, pipeline), Track{}
			if err := c.Restore(state); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(kept, &track); err != nil {
				t.Fatal(err)
			}
			got.periods = append(got.periods, periodOf(c))
			if looks, anew := c.ShouldSample(1, epoch); !looks && c.layers[0].Pause > 0 {
				continue
			} else if anew {
				track.Forget()
			}
			for _, d := range track.Take(epoch, c.Schedule(1), rows, simCols) {
				c.Observe(epoch, 1, d.Epochs, Percentile(d.Rows, 90))
			}
		}
		if !reflect.DeepEqual(got.periods, want.periods) || len(want.periods) != len(all) {
			t.Errorf("pipeline %v: periods %v, without stops %v", pipeline, got.periods, want.periods)
		}
	}
}

// TestControllerRestoreRefused: state of another run, or of none.
func TestControllerRestoreRefused(t *testing.T) {
	c := atPeriod(t, 0.1, 8, true, 4)
	state, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		if !strings.Contains(string(state), old) {
			t.Fatalf("%s has no %s", state, old)
		}
		return strings.Replace(string(state), old, new, 1)
	}
	for _, bad := range []string{"", "{}", "null", "[]", change(`"eps":0.1`, `"eps":0.2`), change(`"max":8`, `"max":4`), change(`"pipeline":true`, `"pipeline":false`),
		change(`"layer":1`, `"layer":2`), change(`"period":4`, `"period":3`), change(`"period":4`, `"period":16`), change(`"period":4`, `"period":-1`),
		change(`"start":100`, `"start":-1`), change(`"quiet":100`, `"quiet":99`), change(`"longest":0`, `"longest":9`), change(`"pause":0`, `"pause":2`), change(`"next":0`, `"next":101`), change(`[{`, `[{},{`)} {
		if err := c.Restore([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
		if again, _ := json.Marshal(c); string(again) != string(state) {
			t.Fatalf("%s has changed the state to %s", bad, again)
		}
	}
	if err := c.Restore(state); err != nil {
		t.Error(err)
	}
}

// FuzzControllerRestore: whatever is taken is a state with which a run can go on within its bound.
func FuzzControllerRestore(f *testing.F) {
	for _, pipeline := range []bool{false, true} {
		state, err := json.Marshal(atPeriod(f, 0.1, 8, pipeline, 4))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(state, pipeline, 0.05)
	}
	f.Fuzz(func(t *testing.T, state []byte, pipeline bool, q90 float64) {
		c := mustController(t, 0.1, 8, pipeline)
		if c.Restore(state) != nil {
			return
		}
		for epoch := range 50 {
			c.Observe(epoch, 1, 1+epoch%9, q90)
			if s := c.Schedule(1); s.Bound() > 8 || s.Period < 1 || s.Start < 0 {
				t.Fatalf("%s: %+v", state, s)
			}
		}
	})
}
