package halo

import "capgnn/jaca"

// An epoch that probes runs its passes twice with the same weights: first with rows as their schedule says, then with rows of its own. In the first run rows that
// age are read only: those that are due do not move, as the second makes all of them anew, as the first epoch of a schedule does. It is enough that no row
// of such an epoch is read in it, which is so with the pipeline.

// Probes reports whether an epoch runs its passes twice.
func (p *Plan) Probes(epoch int) bool {
	return p.periods != nil && p.periods.ladder != nil && p.periods.ladder.Probes(epoch)
}

// BeginProbe begins the first run, and EndProbe ends it: from then on all rows of the epoch are due.
func (p *Plan) BeginProbe() { p.periods.probing = true }

// EndProbe says what BeginProbe does.
func (p *Plan) EndProbe(epoch int) {
	p.periods.probing = false
	p.periods.ladder.Probed(epoch)
	p.periods.adopt()
}

// Ladder reports whether the age of rows adapts.
func (p *Plan) Ladder() bool { return p.periods != nil && p.periods.ladder != nil }

// Period returns the refresh period of layers whose rows age; 0: rows are used in the epoch that makes them.
func (p *Plan) Period() int { return lagging(p.periods.ladder.Schedule()) }

// lagging returns the period of a schedule with a lag, else 0.
func lagging(s jaca.Schedule) int { return s.Period * s.Lag }

// Climb begins with stale rows at once where their age adapts: for a forecast.
func (p *Plan) Climb() {
	if p.Ladder() {
		p.periods.ladder.Climb()
		p.periods.adopt()
	}
}
