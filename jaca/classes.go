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
func classify(x *Exchange, ix *index, s *placement, p int, crossing *Crossing) *classed {
	c := &classed{row: newLinks(len(ix.ids))}
	for i := range x.Halos {
		c.halo = append(c.halo, newLinks(len(x.Halos[i].IDs)))
	}
	c.classify(x, ix, s, p, 0, func(r int32) (in, tied bool) { return !crossing.far(ix.owner[r]), s.global[r] })
	if crossing != nil { // a row crosses for all its readers at once
		c.classify(x, ix, s, p, p, func(r int32) (in, tied bool) {
			tied = s.global[r]
			s.copies(ix, r, func(int32) { tied = true })
			return crossing.far(ix.owner[r]), tied
		})
	}
	return c
}

// classify gives classes first to first+p−1 to some rows. Those that are tied have the same class for all their readers.
func (c *classed) classify(x *Exchange, ix *index, s *placement, p, first int, of func(row int32) (in, tied bool)) {
	fill, class := make([][]int, len(x.Halos)), newLinks(len(ix.ids)) // by part and class
	for i := range fill {
		fill[i] = make([]int, p)
	}
	var rows []int32
	for r := range ix.ids {
		if in, tied := of(int32(r)); in && tied {
			rows = append(rows, int32(r))
		}
	}
	classifyTied(rows, class, ix, s, fill)
	balanceClasses(class, fill, ix, s)
	for r, k := range class {
		if k >= 0 {
			c.row[r] = int32(first) + k
		}
	}
	for i := range x.Halos {
		x.Halos[i].each(func(_, k int) {
			r := ix.rowOf[i][k]
			switch in, tied := of(r); {
			case !in:
			case s.global[r] || tied && s.local[i][k]:
				c.halo[i][k] = c.row[r]
			case s.local[i][k]:
				least := leastOf(fill[i])
				c.halo[i][k] = int32(first + least)
				fill[i][least]++
			}
		})
	}
}

// classifyTied gives classes to rows that have one for all their readers, and counts their local copies in fill.
func classifyTied(rows, class []int32, ix *index, s *placement, fill [][]int) {
	copies := make([]int, len(ix.ids)) // local ones, by row
	for _, r := range rows {
		s.copies(ix, r, func(int32) { copies[r]++ })
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
			for k, n := range fill[i] {
				load[k] += n
			}
		})
		best := -1
		for k := range left {
			if left[k] > 0 && (best < 0 || load[k] < load[best] || load[k] == load[best] && left[k] > left[best]) {
				best = k
			}
		}
		left[best]--
		class[r] = int32(best)
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
