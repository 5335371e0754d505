package jaca

import (
	"fmt"
	"slices"

	"capgnn/gpu"
)

// Policy is the rule by which rows get slots. All share one transport.
type Policy string

// The policies. Static ones choose once, before training; dynamic ones (FIFO, LRU, SIEVE) decide while rows are read.
const (
	JACA       Policy = "jaca"        // least predicted transfer time
	Paper      Policy = "paper"       // highest R in both caches: Algorithm 1 as printed
	FIFO       Policy = "fifo"        // every row that is read gets a slot; evicts the oldest
	LRU        Policy = "lru"         // likewise; evicts the row not read for longest
	SIEVE      Policy = "sieve"       // likewise; evicts the first row not read since the hand passed it
	Random     Policy = "random"      // drawn by the seed, for each cache on its own
	Degree     Policy = "degree"      // highest degree in the whole graph, in both caches
	LowOverlap Policy = "low-overlap" // lowest R in both caches
	None       Policy = "none"        // no slots
)

// Policies lists all of them.
var Policies = []Policy{JACA, Paper, FIFO, LRU, SIEVE, Random, Degree, LowOverlap, None}

// ParsePolicy returns the policy of that name.
func ParsePolicy(s string) (Policy, error) {
	if p := Policy(s); slices.Contains(Policies, p) {
		return p, nil
	}
	return "", fmt.Errorf("%q is not a cache policy, these are: %v", s, Policies)
}

// Static reports whether every row keeps its slot for the whole run.
func (p Policy) Static() bool { return p != FIFO && p != LRU && p != SIEVE }

// rank is the priority of a row, by which static policies other than jaca fill a cache; part −1 stands for the global cache.
type rank func(part, row int) float64

func byOverlap(ix *index) rank {
	return func(_, row int) float64 { return float64(ix.readers(row)) }
}

// rankOf returns the rank of a policy.
func rankOf(o *Options, x *Exchange, ix *index) rank {
	switch o.Policy {
	case Paper:
		return byOverlap(ix)
	case LowOverlap:
		return func(_, row int) float64 { return -float64(ix.readers(row)) }
	case Degree:
		return func(_, row int) float64 { return float64(o.Degree[x.Dir][x.vertex(ix.ids[row])]) }
	case Random:
		key := gpu.SeedKey(o.Seed)
		return func(part, row int) float64 { // uniform in [0, 2³²)
			return float64(gpu.Philox([4]uint32{uint32(ix.ids[row]), uint32(part + 1), uint32(x.Layer), uint32(x.Dir)}, key)[0])
		}
	}
	panic("jaca: policy " + string(o.Policy) + " has no rank")
}

// rankBoth fills both caches with the rows of highest rank; ties by edges into the part, then id.
func rankBoth(x *Exchange, ix *index, caps *Capacities, worth rank) *placement {
	s := newPlacement(x, ix)
	list := make([]candidate, 0, len(ix.ids))
	for r := range ix.ids {
		list = append(list, candidate{worth(-1, r), false, ix.edges[r], int32(r), int32(ix.ids[r])})
	}
	for _, y := range best(list, caps.Global) {
		s.global[y.at] = true
	}
	for i := range x.Halos {
		h := &x.Halos[i]
		list = list[:0]
		h.each(func(_, k int) {
			list = append(list, candidate{worth(i, int(ix.rowOf[i][k])), false, int64(h.Edges[k]), int32(k), int32(h.IDs[k])})
		})
		for _, y := range best(list, caps.Local[i]) {
			s.local[i][y.at] = true
		}
	}
	return s
}
