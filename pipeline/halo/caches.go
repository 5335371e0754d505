package halo

import (
	"errors"
	"fmt"
	"slices"

	"capgnn/hostmem"
	"capgnn/jaca"
)

// cacheExchanges returns the exchanges whose rows may have slots.
func (c *Config) cacheExchanges() []jaca.Exchange {
	var out []jaca.Exchange
	near, _ := c.scopes()
	for _, l := range c.exchangesOf(near) {
		if l.ages {
			cut := c.Cuts.At(l.Layer)
			x := jaca.NewExchange(cut, l.Layer, l.Dir, l.rowBytes(1))
			if l.returned {
				x = jaca.ExchangeOf(returns(cut), l.Layer, l.Dir, l.rowBytes(1))
			}
			x.WireBytes = l.wireRow()
			out = append(out, x)
		}
	}
	return out
}

func (p *Plan) planCaches(schedules *periods) error {
	var err error
	if p.caches, p.tables, err = p.buildCaches(p.cacheExchanges(), p.memory(), schedules.fixed.Period); err == nil {
		caps := &p.caches.Capacities
		p.Log.Info("caches planned", "policy", string(p.caches.Policy), "local slots", fmt.Sprint(caps.Local), "global slots", caps.Global)
	}
	return err
}

// buildCaches gives rows of exchanges slots: as many as recorded, else by the options and memory, which counts as endless where it is
// zero. Each rank's parts get slots by themselves; all ranks have room for as many
// rows in host memory. The plan is that of this rank, tables are those of all.
func (c *Config) buildCaches(exchanges []jaca.Exchange, m jaca.Memory, period int) (*jaca.Plan, [][]*jaca.Table, error) {
	fresh := c.policy() == jaca.JACA && !c.ages() // every row moves in every epoch
	if m.Local, m.Global = c.Local, c.Global; fresh && c.Local == (jaca.Size{}) {
		m.Local = jaca.Rows(0)
	}
	if c.Slots != nil {
		m = jaca.Memory{}
	}
	m.TopK = c.TopK
	readBy, crossings := c.byRank(exchanges)
	caps, err := capacities(readBy, crossings, m)
	if err != nil {
		return nil, nil, err
	}
	switch n := len(caps.Local); {
	case c.Slots != nil:
		caps.Local, caps.Global = slices.Clone(c.Slots[:n]), c.Slots[n]
	case fresh && c.Global == (jaca.Size{}):
		caps.Global = min(caps.Global, sharedRows(exchanges)) // others are copied to the host once in any case
	}
	o := jaca.Options{Policy: c.policy(), Links: c.links(), Period: period}
	var own *jaca.Plan
	var tables [][]*jaca.Table
	for rank, exchanges := range readBy {
		o.Crossing = crossings[rank]
		p, err := jaca.Build(exchanges, caps, o)
		if err != nil {
			return nil, nil, err
		}
		if tables = append(tables, p.Tables); o.Crossing == nil || rank == c.Net.Rank() {
			own = p
		}
	}
	return own, tables, nil
}

// byRank returns exchanges as the parts of each rank see them, and which of their rows cross.
func (c *Config) byRank(exchanges []jaca.Exchange) (readBy [][]jaca.Exchange, crossings []*jaca.Crossing) {
	near, _ := c.scopes()
	if near.ranks == nil {
		return [][]jaca.Exchange{exchanges}, []*jaca.Crossing{nil}
	}
	for rank := range c.Net.Ranks() {
		var some []jaca.Exchange
		for i := range exchanges {
			some = append(some, exchanges[i].ReadBy(rank, near.ranks))
		}
		x := &jaca.Crossing{Rank: rank, Of: near.ranks}
		if c.Pairs != nil {
			x.Seconds = c.Pairs[rank]
		}
		readBy, crossings = append(readBy, some), append(crossings, x)
	}
	return readBy, crossings
}

// capacities returns those of all ranks: local ones of each by its own rows, global ones by the rank that reads most.
func capacities(readBy [][]jaca.Exchange, crossings []*jaca.Crossing, m jaca.Memory) (*jaca.Capacities, error) {
	var all *jaca.Capacities
	var errs []error
	for rank, exchanges := range readBy {
		c, err := jaca.Capacity(exchanges, m)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if all == nil {
			all = c
			continue
		}
		for part, of := range crossings[rank].Of {
			if of == rank {
				all.Local[part], all.LocalUnion[part] = c.Local[part], c.LocalUnion[part]
			}
		}
		all.Global, all.GlobalUnion = max(all.Global, c.Global), max(all.GlobalUnion, c.GlobalUnion)
	}
	return all, errors.Join(errs...)
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
					if len(ids) == 0 || !p.makesOrReads(l, c, o) {
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

// makesOrReads reports whether a part of this process makes or reads rows of a class that an owner puts into the global cache.
func (c *Config) makesOrReads(l *traffic, class, owner int) bool {
	return c.own(owner) || slices.ContainsFunc(c.Ends, func(e *Endpoint) bool {
		r := &l.readers[e.Part]
		at, found := slices.BinarySearch(r.owners, int32(owner))
		return found && len(r.shared[class][at].rows)+len(r.passing[class][at].rows) > 0
	})
}
