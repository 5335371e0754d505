package jaca

// costs prices the rows of one exchange in seconds per byte and epoch, under period p (docs/caching.md). Per reader:
//
//	local and global: h2d/p + d2h/(p·R)        local only:  direct/p
//	global only:      h2d   + d2h/(p·R)        neither:     direct
//
// direct = h2d + d2h, or peer where that is less. d2h is the owner's, h2d the reader's. All rows of an exchange have equal
// bytes, so these do not matter here.
type costs struct {
	ix       *index
	p        float64
	links    *Links
	crossing *Crossing // of rows of other ranks; nil: there is one rank
}

func newCosts(ix *index, o *Options) *costs {
	return &costs{ix: ix, p: float64(o.Period), links: &o.Links, crossing: o.Crossing}
}

// direct returns what a byte takes straight from its owner to a reader, extra that less h2d.
func (c *costs) direct(owner, reader int32) float64 {
	_, seconds, _ := c.links.direct(int(owner), int(reader))
	return seconds
}

func (c *costs) extra(owner, reader int32) float64 {
	_, _, extra := c.links.direct(int(owner), int(reader))
	return extra
}

// globalSaving returns what a global slot for a row saves where local says which of its readers have a local slot.
func (c *costs) globalSaving(row int, local func(part, halo int32) bool) float64 {
	o := c.ix.owner[row]
	if c.crossing.far(o) {
		return c.crossingTotal(row, false, local) - c.crossingTotal(row, true, local)
	}
	whole, shared := 0.0, -c.links.d2h(int(o)) // whole per epoch; shared per period
	for k := c.ix.at[row]; k < c.ix.at[row+1]; k++ {
		if i := c.ix.part[k]; local(i, c.ix.halo[k]) {
			shared += c.extra(o, i)
		} else {
			whole += c.extra(o, i)
		}
	}
	return whole + shared/c.p
}

// pricedSaving returns what a global slot for a row saves where each reader has a local slot if that saves more than its price.
func (c *costs) pricedSaving(row int, prices []float64) float64 {
	o := c.ix.owner[row]
	if c.crossing.far(o) {
		without, with, _ := c.crossingPriced(row, prices)
		return without - with
	}
	saving := -c.links.d2h(int(o)) / c.p
	for k := c.ix.at[row]; k < c.ix.at[row+1]; k++ {
		i := c.ix.part[k]
		direct, h := c.direct(o, i), c.links.h2d(int(i))
		saving += min(direct, direct/c.p+prices[i]) - min(h, h/c.p+prices[i])
	}
	return saving
}

// localSaving returns what a local slot in a reader saves for a row that has or has not a global one.
func (c *costs) localSaving(row, reader int, global bool) float64 {
	if c.crossing.far(c.ix.owner[row]) {
		return c.crossingLocal(row, reader, global)
	}
	return c.arrival(row, reader, global) * (1 - 1/c.p)
}

// arrival returns the time in which a row without a local slot reaches a reader, once it is in the global cache if it has a slot
// there.
func (c *costs) arrival(row, reader int, global bool) float64 {
	if global {
		return c.links.h2d(reader)
	}
	return c.direct(c.ix.owner[row], int32(reader))
}

// total returns the seconds per byte and epoch of a placement.
func (c *costs) total(s *placement) float64 {
	sum := 0.0
	for r := range c.ix.ids {
		o := c.ix.owner[r]
		if c.crossing.far(o) {
			sum += c.crossingTotal(r, s.global[r], func(part, halo int32) bool { return s.local[part][halo] })
			continue
		}
		if s.global[r] {
			sum += c.links.d2h(int(o)) / c.p
		}
		for k := c.ix.at[r]; k < c.ix.at[r+1]; k++ {
			i := c.ix.part[k]
			x := c.direct(o, i)
			if s.global[r] {
				x = c.links.h2d(int(i))
			}
			if s.local[i][c.ix.halo[k]] {
				x /= c.p
			}
			sum += x
		}
	}
	return sum
}
