package halo

import (
	"slices"

	"capgnn/jaca"
)

// periods owns the schedules by which the halo rows of an epoch's exchanges are refreshed: all others ask it. A schedule changes
// between two epochs only: when the exact epochs are over, when the ladder says so, when caches are bypassed, and when a run is resumed; and inside an epoch that probes.
//
// A schedule holds from the epoch on that is enqueued next, and says nothing of later ones. With the pipeline the first rows of an epoch are
// brought while the one before it is computed, by the schedule of the one before: a new schedule, which begins with all rows, drops
// them.
type periods struct {
	fixed   [2]jaca.Schedule // of layers that age, unless they adapt: of rows that stay in a rank, and of those that cross
	exact   int              // epochs at first that use rows of their own
	ladder  *jaca.Ladder     // chooses the schedule of layers that age by the harm that it does; nil: it is fixed
	probing bool             // rows that age are read as the schedule says, and none moves for a later epoch
	across  []bool           // by exchange, those of rows that cross behind the others: its rows cross
	ages    []bool           // the same: its rows may be of an earlier epoch
	now     []jaca.Schedule  // the same: in force
}

// newPeriods returns the schedules of training's exchanges in the first epoch.
func newPeriods(c *Options, exchanges []traffic) (*periods, error) {
	p := &periods{exact: c.ExactEpochs}
	for _, l := range exchanges {
		p.ages, p.across = append(p.ages, l.ages), append(p.across, l.across)
	}
	var err error
	if c.Staleness.Auto() {
		p.ladder = jaca.NewLadder()
	} else {
		for k, o := range c.sides() {
			if err == nil {
				p.fixed[k], err = jaca.NewSchedule(o.Staleness.Bound, c.Pipeline, 0)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	p.now = make([]jaca.Schedule, len(exchanges))
	for k, l := range exchanges {
		// Features do not change, if nothing is made of them or dropped: where all layers have one schedule they may come an epoch later, too.
		if p.ages[k] || l.still && p.ladder == nil {
			p.now[k] = p.from(k, 0)
		} else {
			p.now[k] = jaca.Schedule{Period: 1}
		}
	}
	return p, nil
}

// fixedOf returns the schedule that an exchange has where its rows age, unless it adapts.
func (p *periods) fixedOf(k int) jaca.Schedule {
	if p.across[k] {
		return p.fixed[1]
	}
	return p.fixed[0]
}

// from returns the schedule of an exchange whose rows age, from an epoch on in which everything is due.
func (p *periods) from(k, epoch int) jaca.Schedule {
	switch {
	case p.ladder != nil:
		return p.ladder.Schedule()
	case epoch < p.exact:
		return jaca.Schedule{Period: 1, Start: epoch}
	}
	s := p.fixedOf(k)
	s.Start = epoch
	return s
}

// at returns the schedule of an exchange. Without periods, as in evaluations, all rows are of the epoch that reads them.
func (p *periods) at(exchange int) jaca.Schedule {
	if p == nil {
		return jaca.Schedule{Period: 1}
	}
	return p.now[exchange]
}

// largest returns the longest period that any exchange may get of rows that stay in a rank, and of those that cross.
func (p *periods) largest() (periods [2]int) {
	for k := range periods {
		if periods[k] = p.fixed[k].Period; p.ladder != nil {
			periods[k] = p.ladder.Largest()
		}
	}
	return periods
}

// longest returns a period in which every class of every exchange is due, unless periods adapt.
func (p *periods) longest() int {
	a, b := p.fixed[0].Period, p.fixed[1].Period
	for a%max(1, b) != 0 { // few epochs: both are small
		a += p.fixed[0].Period
	}
	return a
}

// cold reports whether all rows of an exchange are due in an epoch because it is the first one of a schedule.
func (p *periods) cold(epoch int) bool {
	return slices.ContainsFunc(p.now, func(s jaca.Schedule) bool { return s.Start == epoch })
}

// beginAging lets rows age from an epoch on, if it is the one behind the exact ones.
func (p *periods) beginAging(epoch int) {
	if epoch == p.exact {
		p.setAging(func(k int) jaca.Schedule { return p.from(k, epoch) })
	}
}

// adopt puts the ladder's schedule into force.
func (p *periods) adopt() {
	p.setAging(func(int) jaca.Schedule { return p.ladder.Schedule() })
}

// bypass makes all rows move in every epoch from one on.
func (p *periods) bypass(epoch int) {
	p.setAging(func(k int) jaca.Schedule { return jaca.Schedule{Period: 1, Lag: p.now[k].Lag, Start: epoch} })
}

// restart makes all rows due in an epoch.
func (p *periods) restart(epoch int) {
	if p.ladder != nil {
		p.ladder.Restart(epoch)
	}
	for k := range p.now {
		p.now[k].Start = epoch
	}
	p.setAging(func(k int) jaca.Schedule { return p.from(k, epoch) })
}

// resume goes on with the schedule of a checkpoint.
func (p *periods) resume(exchange int, s jaca.Schedule) { p.now[exchange] = s }

// setAging sets the schedules of the exchanges whose rows age.
func (p *periods) setAging(of func(k int) jaca.Schedule) {
	for k, ages := range p.ages {
		if ages {
			p.now[k] = of(k)
		}
	}
}
