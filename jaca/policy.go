package jaca

import (
	"fmt"
	"slices"
)

// Policy is the rule by which rows get slots. All share one transport.
type Policy string

// The policies.
const (
	JACA  Policy = "jaca"  // least predicted transfer time
	Paper Policy = "paper" // highest R in both caches: Algorithm 1 as printed
	None  Policy = "none"  // no slots

	// What the paper compares: for a Replay only. The first two decide while rows are read.
	FIFO       Policy = "fifo"        // every row that is read gets a slot; evicts the oldest
	LRU        Policy = "lru"         // likewise; evicts the row not read for longest
	LowOverlap Policy = "low-overlap" // lowest R in both caches
)

// Policies lists those by which rows are exchanged.
var Policies = []Policy{JACA, Paper, None}

// ParsePolicy returns the policy of that name.
func ParsePolicy(s string) (Policy, error) {
	if p := Policy(s); slices.Contains(Policies, p) {
		return p, nil
	}
	return "", fmt.Errorf("%q is not a cache policy, these are: %v", s, Policies)
}

// Dynamic reports whether rows get slots while they are read. Else every row keeps its slot for the whole run.
func (p Policy) Dynamic() bool { return p == FIFO || p == LRU }

// rankBoth fills both caches with the rows of most readers, times sign; ties by edges into the part, then id.
func rankBoth(x *Exchange, ix *index, caps *Capacities, sign float64) *placement {
	worth := func(row int) float64 { return sign * float64(ix.readers(row)) }
	s := newPlacement(x, ix)
	list := make([]candidate, 0, len(ix.ids))
	for r := range ix.ids {
		list = append(list, candidate{worth(r), false, ix.edges[r], int32(r), int32(ix.ids[r])})
	}
	for _, y := range best(list, caps.Global) {
		s.global[y.at] = true
	}
	for i := range x.Halos {
		h := &x.Halos[i]
		list = list[:0]
		h.each(func(_, k int) {
			list = append(list, candidate{worth(int(ix.rowOf[i][k])), false, int64(h.Edges[k]), int32(k), int32(h.IDs[k])})
		})
		for _, y := range best(list, caps.Local[i]) {
			s.local[i][y.at] = true
		}
	}
	return s
}
