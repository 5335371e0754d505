package jaca

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// harm is what a probe finds in one layer, as a share of noise.
func harm(share float64) []Harm { return []Harm{{Layer: 0, Rho: share * 0.5, Noise: 0.5}} }

// climb runs a ladder through epochs: share says how harmful stale rows are in an epoch that probes, loss what the loss is. It returns the level in force in
// each epoch, and the epochs that probed.
func climb(l *Ladder, epochs int, share func(epoch, level int) float64, loss func(epoch, level int) float64) (levels, probes []int) {
	for e := range epochs {
		level := l.Level()
		levels = append(levels, level)
		var harms []Harm
		if l.Probes(e) {
			probes = append(probes, e)
			harms = harm(share(e, level))
			l.Probed(e)
		}
		l.Observe(e, loss(e, level), harms)
	}
	return levels, probes
}

// still is a loss that falls evenly, with a little noise.
func still(epoch, _ int) float64 { return 2 - 0.001*float64(epoch) + 1e-4*float64(epoch%3) }

// TestLadderClimbs: where rows do no harm the level rises behind epochs 5 and 10, and from 20 on every 25th epoch is probed.
func TestLadderClimbs(t *testing.T) {
	levels, probes := climb(NewLadder(), 200, func(int, int) float64 { return 0.4 }, still)
	for e, level := range levels {
		want := 2
		if e <= 5 {
			want = 0
		} else if e <= 10 {
			want = 1
		}
		if level != want {
			t.Errorf("epoch %d: level %d, want %d", e, level, want)
		}
	}
	if want := []int{10, 20, 45, 70, 95, 120, 145, 170, 195}; !slices.Equal(probes, want) {
		t.Errorf("probes in %v, want %v", probes, want)
	}
	if n := len(probes); 20*n > 200 {
		t.Errorf("%d of 200 epochs probe: more than 5 %%", n)
	}
	l := NewLadder()
	if climb(l, FreshEpochs-1, func(int, int) float64 { return 0 }, still); l.Schedule() != (Schedule{Period: FirstPeriod, Lag: 1, Start: FreshEpochs - 1}) {
		t.Errorf("behind %d epochs %+v: not the first with stale rows next", FreshEpochs-1, l.Schedule())
	}
}

// TestLadderHolds: between half of the noise and all of it the level stays.
func TestLadderHolds(t *testing.T) {
	for _, share := range []float64{0.51, 0.8, 1} {
		levels, _ := climb(NewLadder(), 100, func(int, int) float64 { return share }, still)
		if slices.Max(levels) != 1 || slices.Contains(levels[6:], 0) {
			t.Errorf("harm of %g: levels %v", share, levels)
		}
	}
}

// TestLadderStays: where stale rows do harm most epochs have fresh ones, and the waits between trials double.
func TestLadderStays(t *testing.T) {
	for _, share := range []float64{1.01, 50, math.Inf(1), math.NaN()} {
		levels, probes := climb(NewLadder(), 2000, func(int, int) float64 { return share }, still)
		fresh := func(n int) (share float64) {
			for _, level := range levels[:n] {
				if level == 0 {
					share += 1 / float64(n)
				}
			}
			return share
		}
		if slices.Max(levels) != 1 || fresh(200) < 0.85 || fresh(2000) < 0.96 {
			t.Errorf("harm of %g: up to level %d, fresh rows in %.3f of 200 epochs and %.3f of 2000", share, slices.Max(levels), fresh(200), fresh(2000))
		}
		for k := 2; k < len(probes); k++ { // a trial of 8 epochs is between
			if wait, before := probes[k]-probes[k-1]-9, probes[k-1]-probes[k-2]-9; k > 2 && wait != 2*before {
				t.Errorf("harm of %g: probes in %v: the waits do not double", share, probes)
			}
		}
	}
}

// TestLadderTriesEachLevelAlone: where only the largest age does harm the level below is kept.
func TestLadderTriesEachLevelAlone(t *testing.T) {
	levels, probes := climb(NewLadder(), 400, func(_, level int) float64 { return []float64{0, 0.3, 2}[level] }, still)
	if slices.Contains(levels[6:], 0) || slices.Max(levels) != 2 {
		t.Fatalf("levels %v", levels)
	}
	most := 0
	for _, level := range levels {
		if level == 2 {
			most++
		}
	}
	if most == 0 || most > 80 {
		t.Errorf("%d of 400 epochs at the level that does harm, probes in %v", most, probes)
	}
}

// TestLadderFeelsTheLoss: a loss that swings more than twice as much as when the level rose brings it down, without a probe; one that swings a
// little more, and one that always did, do not.
func TestLadderFeelsTheLoss(t *testing.T) {
	swing := func(by float64) func(epoch, level int) float64 {
		return func(epoch, _ int) float64 { return 1 + by*float64(epoch%2) }
	}
	quiet := func(int, int) float64 { return 0.8 }
	for _, c := range []struct {
		name  string
		loss  func(epoch, level int) float64
		falls bool
	}{
		{"even", swing(0.1), false},
		{"more", func(e, level int) float64 { return swing(0.1+0.07*float64(level))(e, level) }, false},
		{"much more, late", func(e, level int) float64 { return swing(0.1+0.9*float64(e/41))(e, level) }, false},
		{"much more", func(e, level int) float64 { return swing(0.1+0.15*float64(level))(e, level) }, true},
	} {
		levels, probes := climb(NewLadder(), 45, quiet, c.loss)
		if falls := slices.Contains(levels[6:], 0); falls != c.falls {
			t.Errorf("%s: levels %v", c.name, levels)
		}
		if at := slices.Index(levels[6:], 0) + 6; c.falls && (slices.Contains(probes, at-1) || at < 6+roughDiffs) {
			t.Errorf("%s: fell before epoch %d, probes in %v", c.name, at, probes)
		}
	}
}

// TestLadderSchedules: a schedule changes only where Observe or Probed says so, begins in the epoch of a probe or in the next one, and every period is
// a divisor of the largest one.
func TestLadderSchedules(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		l, s := NewLadder(), Schedule{Period: 1}
		for e := range 150 {
			if l.Schedule() != s || l.Largest()%s.Period != 0 || s.Bound() > MaxStaleness || s.Lag == 0 != (s.Period == 1) || s.Start > e {
				t.Fatalf("epoch %d: %+v, was %+v", e, l.Schedule(), s)
			}
			var harms []Harm
			probes := l.Probes(e)
			if probes {
				harms = harm(2 * r.Float64())
				l.Probed(e)
				if s.Start = e; l.Schedule() != s {
					t.Fatalf("epoch %d: %+v behind a probe, want %+v", e, l.Schedule(), s)
				}
			}
			changed := l.Observe(e, r.Float64(), harms)
			now := l.Schedule()
			if changed != (now.Period != s.Period) || changed && now.Start != e+1 && !(probes && now.Lag == 1 && now.Start == e) || !changed && now != s {
				t.Fatalf("epoch %d: changed %t from %+v to %+v", e, changed, s, now)
			}
			s = now
		}
	}
}

// TestLadderIsRestored stops a run behind each epoch: it goes on as one that was not stopped. States that no ladder can be in are refused.
func TestLadderIsRestored(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		l, losses, shares := NewLadder(), make([]float64, 120), make([]float64, 120)
		for e := range losses {
			losses[e], shares[e] = r.NormFloat64(), 2*r.Float64()
		}
		for e := range losses {
			state, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			again := NewLadder()
			if err := again.Restore(state, e); err != nil {
				t.Fatal(err)
			}
			if back, _ := json.Marshal(again); !bytes.Equal(back, state) {
				t.Fatalf("epoch %d: %s, restored %s", e, state, back)
			}
			rest := func(l *Ladder) (levels []int) {
				for k := e; k < len(losses); k++ {
					var harms []Harm
					if l.Probes(k) {
						harms = harm(shares[k])
						l.Probed(k)
					}
					l.Observe(k, losses[k], harms)
					levels = append(levels, l.Level(), l.Schedule().Start)
				}
				return levels
			}
			copied := *l
			copied.s.Losses, copied.s.Rungs = slices.Clone(l.s.Losses), slices.Clone(l.s.Rungs)
			if !slices.Equal(rest(again), rest(&copied)) {
				t.Fatalf("restored before epoch %d: other levels", e)
			}
			var harms []Harm
			if l.Probes(e) {
				harms = harm(shares[e])
				l.Probed(e)
			}
			l.Observe(e, losses[e], harms)
		}
	}
	good, err := json.Marshal(NewLadder())
	if err != nil {
		t.Fatal(err)
	}
	for old, new := range map[string]string{
		`"level":0`: `"level":3`, `"start":0`: `"start":9`, `"since":0`: `"since":-1`, `"next":5`: `"next":2`, `"losses":null`: `"losses":[0,0,0,0,0,0,0,0,0,0,0,0]`,
		`"rough":0`: `"rough":-1`, `"wait":0`: `"wait":-1`, `"retry":0`: `"retry":-3`, `{"level"`: `[{"level"`, `"rungs":[{`: `"rungs":[{},{`,
	} {
		bad := strings.Replace(string(good), old, new, 1)
		l := NewLadder()
		if err := l.Restore([]byte(bad), 3); err == nil || bad == string(good) {
			t.Errorf("%s was restored", bad)
		}
		if now, _ := json.Marshal(l); !bytes.Equal(now, good) {
			t.Errorf("%s changed the ladder", bad)
		}
	}
}

// TestLadderRestarts: it begins anew with fresh rows, and soon probes again.
func TestLadderRestarts(t *testing.T) {
	for _, epoch := range []int{0, 3, 7, 17, 100} {
		l := NewLadder()
		climb(l, epoch, func(int, int) float64 { return 0 }, still)
		l.Restart(epoch)
		if l.Schedule() != (Schedule{Period: 1, Start: epoch}) {
			t.Errorf("epoch %d: %+v", epoch, l.Schedule())
		}
		rose := -1
		for e := epoch; e < epoch+30 && rose < 0; e++ {
			if l.Observe(e, 1, nil) {
				rose = e
			}
		}
		if rose <= epoch || rose > epoch+probeEvery {
			t.Errorf("restarted in epoch %d, rose behind %d", epoch, rose)
		}
	}
	l := NewLadder()
	l.Climb()
	for e := range 500 {
		if l.Probes(e) || l.Observe(e, float64(e%7), nil) || l.Schedule() != (Schedule{Period: FirstPeriod, Lag: 1}) {
			t.Fatalf("a forecast's ladder in epoch %d: %+v", e, l.Schedule())
		}
	}
}

// TestHarm compares with norms that are known, over ranges of elements, and where gradients are 0.
func TestHarm(t *testing.T) {
	var h HarmSums
	h.Add([]float32{3, 4}, []float32{3, 0}, []float32{0, 0})
	h.Add([]float32{4, 1}, []float32{4, 1}, []float32{4, 0})
	got, want := h.Of(2), Harm{Layer: 2, Rho: math.Sqrt(16.0 / 26), Noise: math.Sqrt(5.0 / 26)}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for name, c := range map[string]struct {
		stale, fresh, before float32
		rho, noise           float64
	}{
		"nothing":     {0, 0, 0, 0, 0},
		"only stale":  {1, 0, 0, 0x1p149, 0},
		"only before": {0, 0, 1, 0, 0x1p149 * math.Sqrt2 / 2},
		"both":        {math.MaxFloat32, 0, math.MaxFloat32, math.MaxFloat32 * 0x1p149, math.MaxFloat32 * 0x1p149 * math.Sqrt2 / 2},
		"equal":       {2, 2, 2, 0, 0},
	} {
		var h HarmSums
		h.Add([]float32{c.stale}, []float32{c.fresh}, []float32{c.before})
		if got := h.Of(0); got.Rho != c.rho || math.Abs(got.Noise-c.noise) > 1e-15*c.noise {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
