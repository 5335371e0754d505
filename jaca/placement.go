package jaca

// placement says which rows of an exchange have slots.
type placement struct {
	global []bool   // by row
	local  [][]bool // by part and halo index
}

func newPlacement(x *Exchange, ix *index) *placement {
	s := &placement{global: make([]bool, len(ix.ids))}
	for i := range x.Halos {
		s.local = append(s.local, make([]bool, len(x.Halos[i].IDs)))
	}
	return s
}

// maxRounds bounds the rounds of improve. They end by themselves, since the cost falls in each round; published graphs take 2 to 4.
const maxRounds = 16

// place returns the placement of policy jaca: least predicted transfer time per epoch under the capacities.
//
// Method (docs/caching.md): global slots go to the highest saving, local slots to the highest remaining saving given the global
// ones. Then in turn the global slots are chosen anew given the local ones, which is exact, and the local slots given the
// global ones, which is exact too, until nothing is gained. This is done from several starts: no local slots; local slots
// chosen without a global cache; Algorithm 1's placement; global slots chosen one by one (slack.go); global slots chosen where
// local ones have a dual price (the Lagrange multiplier of their number), which follows demand by subgradient steps. The cheapest
// result is taken, the first of equal ones; the search ends when the dual bound proves a result optimal (dual.go).
//
// Why: a local and a global slot for one row save part of the same transfers. So the saving is submodular, and the first step alone
// saves at least half of what is possible (Fisher, Nemhauser and Wolsey 1978). To choose both at once is a matching in a
// hypergraph, for which no fast exact algorithm is known. TestPlacementOptimal and TestPlacementGap measure the gap to the optimum.
func place(x *Exchange, ix *index, c *costs, caps *Capacities) *placement {
	starts := []*placement{newPlacement(x, ix), newPlacement(x, ix), rankBoth(x, ix, caps, 1)}
	c.chooseLocal(x, caps, starts[1])
	var best *placement
	least := 0.0
	try := func(s *placement) (proven bool) {
		cost := c.improve(x, caps, s)
		if best != nil && cost >= least {
			return false
		}
		best, least = s, cost
		return c.proven(x, caps, s, cost)
	}
	for _, s := range starts {
		if try(s) {
			return best
		}
	}
	s := newPlacement(x, ix)
	c.chooseBySlack(x, caps, s)
	c.chooseLocal(x, caps, s)
	if try(s) {
		return best
	}
	price, step := c.prices(x, best), 1.0
	for range priceRounds {
		s := newPlacement(x, ix)
		c.chooseGlobal(caps, s, price)
		c.subgradientStep(x, caps, s, price, step)
		c.chooseLocal(x, caps, s)
		if try(s) {
			return best
		}
		step *= 0.8
	}
	return best
}

// priceRounds is how often prices of local slots change; their steps are 0.8^20 = 1 % of the first one then.
const priceRounds = 20

// prices returns what one local slot more would save in each part.
func (c *costs) prices(x *Exchange, s *placement) []float64 {
	price := make([]float64, len(x.Halos))
	for i := range x.Halos {
		x.Halos[i].each(func(_, k int) {
			if r := c.ix.rowOf[i][k]; !s.local[i][k] {
				price[i] = max(price[i], c.localSaving(int(r), i, s.global[r]))
			}
		})
	}
	return price
}

// subgradientStep is one step of the subgradient method on the prices of local slots (the Lagrange multipliers of their number),
// given s.global: a price rises in parts where more rows would pay it than there are slots, and falls where fewer would, by a
// share of half the largest saving.
func (c *costs) subgradientStep(x *Exchange, caps *Capacities, s *placement, price []float64, share float64) {
	for i := range x.Halos {
		buyers, most := 0, 0.0
		x.Halos[i].each(func(_, k int) {
			r := c.ix.rowOf[i][k]
			saving := c.localSaving(int(r), i, s.global[r])
			most = max(most, saving)
			if saving > price[i] {
				buyers++
			}
		})
		if buyers > caps.Local[i] {
			price[i] += share * most / 2
		} else {
			price[i] = max(0, price[i]-share*most/2)
		}
	}
}

// improve chooses global and local slots in turn, from the global ones on, and returns the cost.
func (c *costs) improve(x *Exchange, caps *Capacities, s *placement) float64 {
	c.chooseGlobal(caps, s, nil)
	c.chooseLocal(x, caps, s)
	cost := c.total(s)
	for range maxRounds {
		t := &placement{local: s.local, global: make([]bool, len(s.global))}
		c.chooseGlobal(caps, t, nil)
		t.local = newPlacement(x, c.ix).local
		c.chooseLocal(x, caps, t)
		less := c.total(t)
		if less >= cost {
			break
		}
		*s, cost = *t, less
	}
	return cost
}

// candidate is a row, or a halo row of one part, that may get a slot.
type candidate struct {
	saving  float64
	covered bool // it has a slot in the other cache
	edges   int64
	at      int32 // row or halo index
	id      int32
}

// before orders candidates: highest saving; not covered yet (this decides at p = 1, where local slots save nothing); most edges
// into the part; lowest id. No two are equal.
func (a *candidate) before(b *candidate) bool {
	switch {
	case a.saving != b.saving:
		return a.saving > b.saving
	case a.covered != b.covered:
		return b.covered
	case a.edges != b.edges:
		return a.edges > b.edges
	}
	return a.id < b.id
}

// chooseGlobal gives global slots to the rows that save most, given s.local; with prices, given that each reader takes a local slot
// if that saves more than its price. Rows for which a global slot would cost more than it saves get none.
func (c *costs) chooseGlobal(caps *Capacities, s *placement, prices []float64) {
	ix := c.ix
	list := make([]candidate, 0, len(ix.ids))
	has := func(part, halo int32) bool { return s.local[part][halo] }
	for r := range ix.ids {
		covered := true
		for k := ix.at[r]; k < ix.at[r+1]; k++ {
			covered = covered && has(ix.part[k], ix.halo[k])
		}
		saving := 0.0
		if prices == nil {
			saving = c.globalSaving(r, has)
		} else {
			saving = c.pricedSaving(r, prices)
		}
		if saving >= 0 {
			list = append(list, candidate{saving, covered, ix.edges[r], int32(r), int32(ix.ids[r])})
		}
	}
	clear(s.global)
	for _, x := range best(list, caps.Global) {
		s.global[x.at] = true
	}
}

// chooseLocal gives local slots to the halo rows of each part that save most, given s.global.
func (c *costs) chooseLocal(x *Exchange, caps *Capacities, s *placement) {
	for i := range x.Halos {
		h := &x.Halos[i]
		list := make([]candidate, 0, h.rows())
		h.each(func(_, k int) {
			r := c.ix.rowOf[i][k]
			g := s.global[r]
			list = append(list, candidate{c.localSaving(int(r), i, g), g, int64(h.Edges[k]), int32(k), int32(h.IDs[k])})
		})
		clear(s.local[i])
		for _, y := range best(list, caps.Local[i]) {
			s.local[i][y.at] = true
		}
	}
}

// best returns the first n of the candidates, in any order. Method: quickselect with the middle of three as pivot.
func best(list []candidate, n int) []candidate {
	if n >= len(list) {
		return list
	}
	lo, hi := 0, len(list) // list[:lo] is among the best, list[hi:] is not
	for lo < n && n < hi {
		switch k := lo + partition(list[lo:hi]); {
		case k < n:
			lo = k + 1
		default:
			hi = k
		}
	}
	return list[:n]
}

// partition moves a pivot to the place k that it returns, candidates before it in front and the others behind.
func partition(list []candidate) (k int) {
	last, mid := len(list)-1, len(list)/2
	if list[mid].before(&list[0]) {
		list[mid], list[0] = list[0], list[mid]
	}
	if list[last].before(&list[0]) {
		list[last], list[0] = list[0], list[last]
	}
	if list[mid].before(&list[last]) {
		list[mid], list[last] = list[last], list[mid]
	}
	for i := range last {
		if list[i].before(&list[last]) {
			list[i], list[k] = list[k], list[i]
			k++
		}
	}
	list[k], list[last] = list[last], list[k]
	return k
}
