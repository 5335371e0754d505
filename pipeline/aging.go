package pipeline

import "capgnn/jaca"

// period returns after how many epochs rows are renewed, 0 if they are of the epoch that uses them; 1 where that adapts.
func (c *Cache) period() int {
	s, err := jaca.NewSchedule(c.Staleness.Bound, c.Pipeline, 0)
	switch {
	case err != nil || c.Staleness.Bound == 0:
		return 0
	case c.Staleness.Auto():
		return 1
	}
	return s.Period
}

// schedules returns the schedule of every layer at first, and the largest period that one may get.
func (t *Trainer) schedules() (of func(layer int) jaca.Schedule, largest int, err error) {
	c := &t.o.Cache
	fixed, err := jaca.NewSchedule(c.Staleness.Bound, c.Pipeline, 0)
	if err != nil || !c.Staleness.Auto() {
		t.fixed = fixed
		return func(layer int) jaca.Schedule {
			if layer > 0 && !t.plan.Ages(layer) { // features do not change: they may come an epoch later
				return jaca.Schedule{Period: 1}
			}
			return t.schedule(0)
		}, fixed.Period, err
	}
	if err := t.adapt(); err != nil {
		return nil, 0, err
	}
	return func(layer int) jaca.Schedule {
		if !t.plan.Ages(layer) {
			return jaca.Schedule{Period: 1}
		}
		return t.controller.Schedule(layer)
	}, t.controller.Largest(), nil
}

// schedule returns the schedule of layers that age, at a fixed staleness, from an epoch on in which everything is due.
func (t *Trainer) schedule(start int) jaca.Schedule {
	if start < t.o.Cache.ExactEpochs {
		return jaca.Schedule{Period: 1, Start: start}
	}
	s := t.fixed
	s.Start = start
	return s
}

// beginAging lets rows age from an epoch on, if it is the one behind the exact ones.
func (t *Trainer) beginAging(epoch int) {
	if epoch != t.o.Cache.ExactEpochs {
		return
	}
	for _, l := range t.legs {
		if l.ages {
			l.schedule = t.schedule(epoch)
		}
	}
}
