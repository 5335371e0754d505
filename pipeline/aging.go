package pipeline

import (
	"context"
	"errors"
	"slices"

	"capgnn/gpu"
	"capgnn/jaca"
)

// settleAging makes a run in which no row of another part can be of an earlier epoch one of staleness 0, so that it has its order of
// operations, its bits and its speed (docs/adr/0020).
func (t planner) settleAging() error {
	ages, err := t.mayAge()
	if err == nil && !ages && t.o.Cache.Staleness.Bound > 0 {
		t.o.Cache.Staleness, t.o.Cache.ExactEpochs = jaca.Staleness{}, 0
		t.chooseOrder()
	}
	return err
}

// mayAge reports whether rows of other parts may be of an earlier epoch: the staleness allows it, not all epochs are exact, a layer
// that ages reads such rows, and they are used an epoch later or have slots, if memory leaves room.
func (t planner) mayAge() (bool, error) {
	c := &t.o.Cache
	if c.Staleness.Bound == 0 || t.o.exactThroughout() || !t.exchanges() {
		return false, nil
	}
	if c.Pipeline || c.policy() == jaca.None {
		return c.Pipeline, nil
	}
	p, err := t.buildCaches(t.cacheExchanges(), jaca.Memory{}, c.Staleness.Bound+1)
	return err == nil && t.givesSlots(p), err
}

// errNoSlots says that rows were to age in slots, and memory leaves room for none.
var errNoSlots = errors.New("no row has a slot")

// lacksMemoryToAge reports whether placing a run ended with err because memory leaves no room for rows that age: none for a slot, or none for
// what the order of stale rows takes besides.
func (t planner) lacksMemoryToAge(err error) bool {
	c := &t.o.Cache
	asked := c.Slots != nil || c.Local != (jaca.Size{})
	var oom *gpu.OutOfMemory
	return errors.Is(err, errNoSlots) || t.Ages() && !c.Pipeline && !asked && t.caches == nil && errors.As(err, &oom)
}

// newExact is New for a run for whose slots there is no memory: without slots, so that nothing ages.
func newExact(ctx context.Context, p *Problem, o Options) (*Trainer, error) {
	o.Cache.Slots = make([]int, len(o.Devices)+1)
	t, err := New(ctx, p, o)
	if err == nil {
		t.replaced = true
	}
	return t, err
}

// Replaced reports whether New placed the run twice, the second time in another order of operations: devices' high-water marks are those
// of both.
func (t *Trainer) Replaced() bool { return t.replaced }

// exactThroughout reports whether all epochs of a run use rows of their own: the exact ones and the first behind them do.
func (o *Options) exactThroughout() bool {
	return o.Epochs > 0 && o.Epochs <= o.Cache.ExactEpochs+1
}

// exchanges reports whether a layer whose rows may have slots reads rows of other parts, forward or backward.
func (t planner) exchanges() bool {
	for l := range t.plan.Layers {
		if t.plan.Ages(l) && t.shape.Halo[l]+t.shape.BackHalo[l] > 0 {
			return true
		}
	}
	return false
}

// givesSlots reports whether some row has a slot by a plan, or may get one while rows are read.
func (t planner) givesSlots(p *jaca.Plan) bool {
	return slices.ContainsFunc(p.Tables, func(table *jaca.Table) bool {
		if p.Policy.Static() {
			return table.Slots() > 0
		}
		local, global := cacheSlots(table, &p.Capacities)
		return global > 0 || slices.Max(local) > 0
	})
}

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
