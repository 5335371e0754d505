package jaca

import (
	"fmt"
	"math"
	"testing"

	"capgnn/gpu"
)

// rowsOf draws the rows of a training run: each has its own speed, log-normal over rows, and moves by pace(epoch) of its norm
// in an epoch, in a direction that is its own for ever or another in each epoch; what is read is that plus noise, which is
// drawn anew in each epoch as that of dropout is.
type rowsOf struct {
	seed   uint64
	pace   func(epoch int) float64
	wander bool
	noise  float64
}

const simRows, simCols = 256, 8

// normal returns 4 standard normal numbers.
func normal(key [2]uint32, a, b, c uint32) (x [4]float64) {
	w := gpu.Philox([4]uint32{a, b, c}, key)
	for k := 0; k < 4; k += 2 {
		r := math.Sqrt(-2 * math.Log((float64(w[k])+0.5)/(1<<32)))
		sin, cos := math.Sincos(2 * math.Pi * float64(w[k+1]) / (1 << 32))
		x[k], x[k+1] = r*cos, r*sin
	}
	return x
}

// unit returns a random vector of about norm 1.
func (p *rowsOf) unit(row, epoch, what int) (x [simCols]float64) {
	for c := 0; c < simCols; c += 4 {
		for k, v := range normal(gpu.SeedKey(p.seed), uint32(row), uint32(epoch), uint32(what*simCols+c)) {
			x[c+k] = v / math.Sqrt(simCols)
		}
	}
	return x
}

// run returns the rows by epoch.
func (p *rowsOf) run(epochs int) [][]float32 {
	var all [][]float32
	at := make([][simCols]float64, simRows)
	for epoch := range epochs {
		rows := make([]float32, 0, simRows*simCols)
		for r := range at {
			way := 0
			if p.wander {
				way = epoch
			}
			move, noise := p.unit(r, way, 1), p.unit(r, epoch, 2)
			speed := p.pace(epoch) * math.Exp(0.4*normal(gpu.SeedKey(p.seed), uint32(r), 0, 999)[0])
			if epoch == 0 {
				at[r] = p.unit(r, 0, 0)
			}
			for c := range simCols {
				at[r][c] += speed * move[c]
				rows = append(rows, float32(at[r][c]+p.noise*noise[c]))
			}
		}
		all = append(all, rows)
	}
	return all
}

// measuring says which drift the controller sees.
type measuring int

const (
	whole  measuring = iota // over one and two periods, and within them
	sparse                  // over one and two periods
	single                  // over one period, and within it
	measurings
)

// outcome is what a run under a controller came to.
type outcome struct {
	used, usedUnder int64   // rows used after epoch 10, and those that were off by EPS at most
	seen, seenUnder int64   // sample rows of stale layers after epoch 10, and those drifted by EPS at most since the last refresh
	refreshed       float64 // row refreshes of those without staleness
	periods         []int   // by epoch, 0 = synchronous
	ages            Ages
}

// simulate runs one layer under a controller and looks at every use and every change.
func simulate(t *testing.T, c *Controller, all [][]float32, how measuring) (o outcome) {
	t.Helper()
	var track Track
	for epoch, rows := range all {
		s := c.Schedule(1)
		if s.Bound() > c.max {
			t.Fatalf("epoch %d: schedule %+v, bound %d", epoch, s, c.max)
		}
		o.periods = append(o.periods, periodOf(c))
		o.use(t, c, s, epoch, all)
		looks, anew := c.ShouldSample(1, epoch)
		if how == sparse && !looks || how != sparse && c.layers[0].Pause > 0 && !looks {
			continue
		}
		if anew {
			track.Forget()
		}
		changed := false
		for _, d := range track.Take(epoch, s, rows, simCols) {
			if d.Epochs <= s.Period && s.Bound() > 0 && epoch > 10 {
				o.seen += int64(len(d.Rows))
				o.seenUnder += int64(CountWithin(d.Rows, c.eps))
			}
			if d.Epochs <= s.Period || how != single {
				changed = c.Observe(epoch, 1, d.Epochs, Percentile(d.Rows, 90)) || changed
			}
		}
		if next := c.Schedule(1); changed != (next != s) || changed && next.Start != epoch+1 {
			t.Fatalf("epoch %d, changed %v: schedule %+v after %+v", epoch, changed, next, s)
		}
	}
	return o
}

// periodOf returns the period of layer 1, 0 = synchronous.
func periodOf(c *Controller) int {
	if s := c.Schedule(1); s.Lag == 1 || !c.pipeline {
		return s.Period
	}
	return 0
}

// use lets readers use the rows of an epoch: versions must be as old as the bound at most and of this schedule, and they are
// compared with what the owner has.
func (o *outcome) use(t *testing.T, c *Controller, s Schedule, epoch int, all [][]float32) {
	t.Helper()
	for class := range s.Period {
		version := s.Version(class, epoch)
		if err := CheckAge(version, epoch, c.max); err != nil || version < s.Start {
			t.Fatalf("%+v: version %d: %v", s, version, err)
		}
		n := 0
		for r := class; r < simRows; r += s.Period {
			n++
			if epoch > 10 {
				row := func(e int) []float32 { return all[e][r*simCols:][:simCols] }
				o.used++
				o.usedUnder += int64(CountWithin(RowDrifts(row(version), row(epoch), simCols), c.eps))
			}
		}
		if err := o.ages.Use(n, version, epoch, s.Bound()); err != nil {
			t.Fatal(err)
		}
		if s.Due(class, epoch) {
			o.refreshed += float64(n) / simRows / float64(len(all))
		}
	}
}

// check holds an outcome to the promises: at least 95 % of what is used after epoch 10 is under EPS, and of the sample rows of
// layers that use stale ones; a period doubles after no less than five of it, and only then; it falls to a half or less.
func (o *outcome) check(c *Controller) error {
	if o.usedUnder*100 < o.used*95 || o.seenUnder*100 < o.seen*95 {
		return fmt.Errorf("%d of %d uses and %d of %d samples are under %g", o.usedUnder, o.used, o.seenUnder, o.seen, c.eps)
	}
	if o.ages.Max > c.max {
		return fmt.Errorf("age %d, bound %d", o.ages.Max, c.max)
	}
	return o.checkMoves(c)
}

func (o *outcome) checkMoves(c *Controller) error {
	since := 0
	for epoch := 1; epoch < len(o.periods); epoch++ {
		was, is := o.periods[epoch-1], o.periods[epoch]
		switch {
		case is == was:
			continue
		case is > was && is != c.above(was):
			return fmt.Errorf("epoch %d: period %d after %d", epoch, is, was)
		case is > was && epoch-since <= quietPeriods*span(was):
			return fmt.Errorf("epoch %d: period %d after %d, which began in epoch %d", epoch, is, was, since)
		case is < was && is > was/2:
			return fmt.Errorf("epoch %d: period %d after %d", epoch, is, was)
		}
		since = epoch
	}
	return nil
}

func (o *outcome) String() string {
	text := ""
	for e, p := range o.periods {
		if e == 0 || o.periods[e-1] != p {
			text += fmt.Sprintf(" %d@%d", p, e)
		}
	}
	return fmt.Sprintf("%.1f %% of uses, %.1f %% of samples under EPS, %.3f refreshed, mean age %.2f, at bound %.2f, periods%s",
		100*share(o.usedUnder, o.used), 100*share(o.seenUnder, o.seen), o.refreshed, o.ages.Mean(), o.ages.ShareAtBound(), text)
}

// processes are runs by name: paces are relative drifts per epoch.
func processes() map[string]rowsOf {
	decay := func(a, tau, c float64) func(int) float64 {
		return func(e int) float64 { return a*math.Exp(-float64(e)/tau) + c }
	}
	every := func(n int, burst, pace float64) func(int) float64 {
		return func(e int) float64 {
			if e%n == n-15 {
				return burst
			}
			return pace
		}
	}
	return map[string]rowsOf{
		"still":      {1, decay(0, 1, 0), false, 0},
		"decay":      {2, decay(0.1, 20, 0.001), false, 0},
		"slow decay": {3, decay(0.05, 80, 0.0005), false, 0},
		"walk":       {4, decay(0.1, 20, 0.003), true, 0},
		"noise":      {5, decay(0.1, 20, 0.0005), false, 0.02},
		"fast":       {6, decay(0, 1, 0.2), true, 0},
		"bursts":     {7, every(60, 0.3, 0.002), false, 0},
		"creep":      {8, func(e int) float64 { return 0.0002 * math.Exp(float64(e)/50) }, true, 0},
		"waves":      {9, func(e int) float64 { return 0.004 * (1 + math.Sin(float64(e)/15)) }, true, 0},
	}
}

// TestControllerProcesses runs kinds of drift with EPS 0.05. With bursts samples are under EPS only if looked at in each epoch:
// else a burst is seen up to a period late.
func TestControllerProcesses(t *testing.T) {
	for name, p := range processes() {
		all := p.run(300)
		for _, pipeline := range []bool{false, true} {
			for how := range measurings {
				c := mustController(t, 0.05, MaxStaleness, pipeline)
				o := simulate(t, c, all, how)
				t.Logf("%-10s pipeline %-5v measuring %d: %s", name, pipeline, how, &o)
				err := o.check(c)
				if name == "bursts" && how == sparse {
					err = o.checkMoves(c)
				}
				if err != nil {
					t.Errorf("%s, pipeline %v, measuring %d: %v", name, pipeline, how, err)
				}
				last := o.periods[len(o.periods)-1]
				switch {
				case name == "fast" && last != c.least():
					t.Errorf("fast, pipeline %v: ends with period %d", pipeline, last)
				case (name == "still" || name == "decay" || name == "walk" || name == "noise" && how != single) && last != MaxStaleness:
					t.Errorf("%s, pipeline %v, measuring %d: ends with period %d", name, pipeline, how, last)
				}
			}
		}
	}
}

// TestControllerRandom draws runs: paces that fall, rise and burst, noise, EPS, MAX.
func TestControllerRandom(t *testing.T) {
	d := &draw{seed: 15}
	uniform := func() float64 { return float64(d.below(1<<20)) / (1 << 20) }
	for n := range 30 {
		eps := []float64{0.02, 0.05, 0.2}[d.below(3)]
		start, tau, end := 3*eps*uniform(), 5+60*uniform(), eps*math.Pow(10, -3*uniform())
		gap, burst := 80+d.below(100), 10*eps*uniform()
		p := rowsOf{seed: uint64(n), wander: d.below(2) == 1, noise: 0.4 * eps * uniform() * float64(d.below(2)), pace: func(e int) float64 {
			x := start*math.Exp(-float64(e)/tau) + end
			if e%gap == gap-20 {
				x += burst
			}
			return x
		}}
		c := mustController(t, eps, 1+d.below(MaxStaleness), d.below(2) == 1)
		o := simulate(t, c, p.run(200), whole)
		if err := o.check(c); err != nil {
			t.Errorf("run %d, %s, pipeline %v: %v\n%s", n, Staleness{c.max, eps}, c.pipeline, err, &o)
		}
	}
}

func mustController(t testing.TB, eps float64, max int, pipeline bool) *Controller {
	t.Helper()
	c, err := NewController(eps, max, pipeline, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
