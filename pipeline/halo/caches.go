package halo

import (
	"fmt"
	"slices"

	"capgnn/hostmem"
	"capgnn/jaca"
)

// cacheExchanges returns the exchanges whose rows may have slots.
func (c *Config) cacheExchanges() []jaca.Exchange {
	var out []jaca.Exchange
	for _, l := range trainingExchanges(c.Model, c.Order, &c.Options) {
		if l.ages {
			cut := c.Cuts.At(l.Layer)
			x := jaca.NewExchange(cut, l.Layer, l.Dir, l.rowBytes(1))
			if l.returned {
				x = jaca.ExchangeOf(returns(cut), l.Layer, l.Dir, l.rowBytes(1))
				x.Vertices = verticesOf(cut)
			}
			x.WireBytes = l.wireRow()
			out = append(out, x)
		}
	}
	return out
}

// planCaches gives rows their slots, as many as memory leaves room for.
func (c *Config) planCaches(schedules *periods) (*jaca.Plan, error) {
	p, err := c.buildCaches(c.cacheExchanges(), c.memory(), schedules.largest())
	if err == nil {
		c.Log.Info("caches planned", "policy", string(p.Policy), "local slots", fmt.Sprint(p.Capacities.Local), "global slots", p.Capacities.Global)
	}
	return p, err
}

// buildCaches gives rows of exchanges slots: as many as recorded, else by the options and memory, which counts as endless where it is
// zero.
func (c *Config) buildCaches(exchanges []jaca.Exchange, m jaca.Memory, period int) (*jaca.Plan, error) {
	fresh := c.policy() == jaca.JACA && c.Staleness.Bound == 0 // every row moves in every epoch
	if m.Local, m.Global = c.Local, c.Global; fresh && c.Local == (jaca.Size{}) {
		m.Local = jaca.Rows(0)
	}
	if c.Slots != nil {
		m = jaca.Memory{}
	}
	m.TopK = c.TopK
	caps, err := jaca.Capacity(exchanges, m)
	if err != nil {
		return nil, err
	}
	switch n := len(caps.Local); {
	case c.Slots != nil:
		caps.Local, caps.Global = slices.Clone(c.Slots[:n]), c.Slots[n]
	case fresh && c.Global == (jaca.Size{}):
		caps.Global = min(caps.Global, sharedRows(exchanges)) // others are copied to the host once in any case
	}
	o := jaca.Options{Policy: c.policy(), Links: c.links(), Period: period, Seed: c.Seed}
	if o.Policy == jaca.Degree {
		o.Degree = [2][]int32{c.Cuts.Whole.OutDegree, c.Cuts.Whole.InDegree}
	}
	return jaca.Build(exchanges, caps, o)
}

// sharedRows returns the number of rows that several parts read, the most of any exchange.
func sharedRows(exchanges []jaca.Exchange) int {
	most := 0
	for i := range exchanges {
		n := 0
		_, readers := jaca.Overlap(&exchanges[i])
		for _, r := range readers {
			if r > 1 {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// openRegion cuts the global cache of this process into the blocks of the exchanges that its parts make or read.
func (p *Plan) openRegion(exchanges []*traffic) error {
	var total int64
	each := func(f func(l *traffic, class, owner int, size int64) error) error {
		for _, l := range exchanges {
			for c := range l.global {
				for o, ids := range l.global[c] {
					if !p.touches(l, c, o) {
						continue
					}
					if err := f(l, c, o, int64(l.wireRow())*int64(len(ids))); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	if err := each(func(_ *traffic, _, _ int, size int64) error { total += hostmem.BlockCost(size); return nil }); err != nil {
		return err
	}
	for _, l := range exchanges {
		if l.dynamic != nil {
			total += hostmem.SlotsCost(l.dynamic.GlobalSlots(), int64(l.wireRow()))
		}
	}
	if total == 0 {
		return nil
	}
	r, err := hostmem.NewRegion("global cache", total, p.Lock())
	if err != nil {
		return err
	}
	p.region = r
	if why := r.Unlocked(); why != nil {
		p.Log.Warn("the global cache is not page-locked", "why", why)
	}
	for _, l := range exchanges {
		if l.dynamic != nil {
			if l.dynamic.Slots, err = r.Slots(l.ID.String(), l.dynamic.GlobalSlots(), int64(l.wireRow())); err != nil {
				return err
			}
		}
	}
	return each(func(l *traffic, class, owner int, size int64) error {
		if l.blocks == nil {
			l.blocks = make([][]*hostmem.Versioned, len(l.global))
			for c := range l.blocks {
				l.blocks[c] = make([]*hostmem.Versioned, len(l.global[c]))
			}
		}
		b, err := r.Block(fmt.Sprintf("%v, class %d of part %d", l.ID, class, owner), size)
		l.blocks[class][owner] = b
		return err
	})
}

// touches reports whether an owner puts rows of a class into the global cache that a part of this process makes or reads.
func (c *Config) touches(l *traffic, class, owner int) bool {
	if there := len(l.global[class][owner]) > 0; !there || c.own(owner) {
		return there
	}
	return slices.ContainsFunc(c.Ends, func(e *Endpoint) bool {
		r := &l.readers[e.Part]
		at, found := slices.BinarySearch(r.owners, int32(owner))
		return found && len(r.shared[class][at].rows)+len(r.passing[class][at].rows) > 0
	})
}
