package jaca

import (
	"cmp"
	"slices"
)

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

// maxRounds bounds the rounds of improve, which end by themselves as the cost falls in each; a published graph takes 2 to 4.
const maxRounds = 16

// place returns the placement of policy jaca: least predicted transfer time per epoch under the capacities.
//
// Method: DESIGN.md 7: global slots go to the highest saving, local slots to the highest remaining saving given the global
// ones. Then in turn the global slots are chosen anew given the local ones, which is exact, and the local slots given the
// global ones, which is exact too, until nothing is gained. This starts from no local slots, from local slots chosen without
// a global cache, and from Algorithm 1's placement; the cheapest result counts, ties to the first.
//
// Why: the saving is submodular (a local and a global slot do part of each other's work), so the first step alone saves at
// least half of what is possible (Fisher, Nemhauser and Wolsey 1978); choosing both at once is a matching of hypergraphs
// and has no fast exact algorithm. TestPlacementOptimal says how near it comes.
func place(x *Exchange, ix *index, c *costs, caps *Capacities) *placement {
	starts := []*placement{newPlacement(x, ix), newPlacement(x, ix), rankBoth(x, ix, caps, byOverlap(ix))}
	c.chooseLocal(x, caps, starts[1])
	var best *placement
	least := 0.0
	try := func(s *placement) bool {
		cost := c.improve(x, caps, s)
		if best != nil && cost >= least {
			return false
		}
		best, least = s, cost
		return true
	}
	for _, s := range starts {
		try(s)
	}
	for range maxRounds {
		s := newPlacement(x, ix)
		c.chooseGlobal(caps, s, c.prices(x, best))
		c.chooseLocal(x, caps, s)
		if !try(s) {
			break
		}
	}
	return best
}

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

// first orders candidates: highest saving; not covered yet (this decides at p = 1, where local slots save nothing); most
// edges into the part; lowest id.
func first(a, b candidate) int {
	covered := 0
	if a.covered != b.covered {
		covered = 1
		if b.covered {
			covered = -1
		}
	}
	return cmp.Or(cmp.Compare(b.saving, a.saving), covered, cmp.Compare(b.edges, a.edges), cmp.Compare(a.id, b.id))
}

// chooseGlobal gives global slots to the rows that save most: given s.local, or if prices are given where local slots can be had
// for them. What would cost more than it saves gets none.
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

// best returns the first n of the candidates.
func best(list []candidate, n int) []candidate {
	if n < len(list) {
		slices.SortFunc(list, first)
		list = list[:n]
	}
	return list
}
