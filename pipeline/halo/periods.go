package halo

import "capgnn/jaca"

// periods owns the schedules by which the halo rows of an epoch's exchanges are refreshed: all others ask it. A schedule changes
// between two epochs only: when the exact epochs are over, and when a run is resumed.
//
// A schedule holds from the epoch on that is enqueued next, and says nothing of later ones. With the pipeline the first rows of an epoch are
// brought while the one before it is computed, by the schedule of the one before: a new schedule, which begins with all rows, drops
// them.
type periods struct {
	fixed jaca.Schedule   // of layers that age, behind the exact epochs
	exact int             // epochs at first that use rows of their own
	ages  []bool          // by exchange, those of rows that cross behind the others: its rows may be of an earlier epoch
	now   []jaca.Schedule // the same: in force
}

// newPeriods returns the schedules of training's exchanges in the first epoch.
func newPeriods(c *Options, exchanges []traffic) (*periods, error) {
	fixed, err := jaca.NewSchedule(c.Staleness, c.Pipeline, 0)
	if err != nil {
		return nil, err
	}
	p := &periods{fixed: fixed, exact: c.ExactEpochs}
	for _, l := range exchanges {
		now := jaca.Schedule{Period: 1}
		if l.ages || l.still { // features do not change, if nothing is made of them or dropped: they may come an epoch later, too
			now = p.from(0)
		}
		p.ages, p.now = append(p.ages, l.ages), append(p.now, now)
	}
	return p, nil
}

// from returns the schedule of an exchange whose rows age, from an epoch on in which everything is due.
func (p *periods) from(epoch int) jaca.Schedule {
	s := p.fixed
	if epoch < p.exact {
		s = jaca.Schedule{Period: 1}
	}
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

// beginAging lets rows age from an epoch on, if it is the one behind the exact ones.
func (p *periods) beginAging(epoch int) {
	if epoch == p.exact {
		p.setAging(epoch)
	}
}

// restart makes all rows due in an epoch.
func (p *periods) restart(epoch int) {
	for k := range p.now {
		p.now[k].Start = epoch
	}
	p.setAging(epoch)
}

// resume goes on with the schedule of a checkpoint.
func (p *periods) resume(exchange int, s jaca.Schedule) { p.now[exchange] = s }

// setAging begins the schedules of the exchanges whose rows age in an epoch.
func (p *periods) setAging(epoch int) {
	for k, ages := range p.ages {
		if ages {
			p.now[k] = p.from(epoch)
		}
	}
}
