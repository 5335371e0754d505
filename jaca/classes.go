package jaca

import (
	"cmp"
	"slices"
)

// classed is the refresh class of everything that has a slot; −1 elsewhere.
type classed struct {
	row  []int32   // by row, of those with a global slot
	halo [][]int32 // by part and halo index
}

// classify divides the rows of a placement into p classes. A row with a global slot has the same class for all its readers. The
// classes of global slots differ in size by at most 1. So do the classes of a part's local slots if enough of its rows have no global
// slot; otherwise they are as equal as swaps of two rows can make them: see Table.Uneven.
//
// Method: rows with a global slot, those with most local copies first, each into the class of which its readers have fewest;
// swaps (classbalance.go); then in each part the rest into the class that has fewest so far.
//
// Why not exactly equal: as a row has one class for all its readers, this is the colouring of a hypergraph, and some hypergraphs
// have no colouring that is equal in every edge.
func classify(x *Exchange, ix *index, s *placement, p int) *classed {
	c := &classed{row: newLinks(len(ix.ids))}
	fill := make([][]int, len(x.Halos)) // by part and class
	for i := range x.Halos {
		fill[i] = make([]int, p)
		c.halo = append(c.halo, newLinks(len(x.Halos[i].IDs)))
	}
	c.classifyGlobal(ix, s, fill)
	balanceClasses(c.row, fill, ix, s)
	for i := range x.Halos {
		x.Halos[i].each(func(_, k int) {
			r := ix.rowOf[i][k]
			if s.global[r] {
				c.halo[i][k] = c.row[r]
			} else if s.local[i][k] {
				least := leastOf(fill[i])
				c.halo[i][k] = int32(least)
				fill[i][least]++
			}
		})
	}
	return c
}

// classifyGlobal gives classes to the rows with a global slot and counts their local copies in fill.
func (c *classed) classifyGlobal(ix *index, s *placement, fill [][]int) {
	copies := make([]int, len(ix.ids)) // local ones, by row
	var rows []int32
	for r := range ix.ids {
		if s.global[r] {
			rows = append(rows, int32(r))
			s.copies(ix, int32(r), func(int32) { copies[r]++ })
		}
	}
	slices.SortStableFunc(rows, func(a, b int32) int { return cmp.Compare(copies[b], copies[a]) })
	p := len(fill[0])
	left, load := make([]int, p), make([]int, p)
	for k := range left {
		left[k] = (k+1)*len(rows)/p - k*len(rows)/p
	}
	for _, r := range rows {
		clear(load)
		s.copies(ix, r, func(i int32) {
			for class, n := range fill[i] {
				load[class] += n
			}
		})
		best := -1
		for class := range left {
			if left[class] > 0 && (best < 0 || load[class] < load[best] || load[class] == load[best] && left[class] > left[best]) {
				best = class
			}
		}
		left[best]--
		c.row[r] = int32(best)
		s.copies(ix, r, func(i int32) { fill[i][best]++ })
	}
}

// copies calls f for each part that has a local slot for a row.
func (s *placement) copies(ix *index, row int32, f func(part int32)) {
	for k := ix.at[row]; k < ix.at[row+1]; k++ {
		if i := ix.part[k]; s.local[i][ix.halo[k]] {
			f(i)
		}
	}
}

// leastOf returns the index of the smallest number, the first of equal ones.
func leastOf(x []int) int {
	best := 0
	for k := range x {
		if x[k] < x[best] {
			best = k
		}
	}
	return best
}
