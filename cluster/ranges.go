package cluster

import (
	"fmt"
	"sort"

	"capgnn/internal/number"
)

// Ranges lists the first part of each rank: rank r has the parts from entry r to the next entry, at least one. The
// last entry is the number of parts.
type Ranges []int

// RangesOf returns the ranges of ranks with so many parts each.
func RangesOf(parts []int) (Ranges, error) {
	r := make(Ranges, 1, len(parts)+1)
	for rank, n := range parts {
		if n < 1 {
			return nil, fmt.Errorf("rank %d has no part: start fewer ranks, or raise --parts", rank)
		}
		r = append(r, r[rank]+n)
	}
	return r, nil
}

// Spread returns how many of parts parts each rank has, by the number of its devices: one each, and every further part goes where
// fewest parts are on a device then, to the lowest of such ranks. As many parts as devices are one on each.
func Spread(parts int, devices []int) ([]int, error) {
	if parts < len(devices) {
		return nil, fmt.Errorf("%s cannot be spread over %d ranks, each has at least one: raise their number to %d, or start fewer ranks", number.Counted(parts, "part"), len(devices), len(devices))
	}
	if len(devices) == 0 {
		return nil, nil
	}
	out := make([]int, len(devices))
	for rank, d := range devices {
		if d < 1 {
			return nil, fmt.Errorf("rank %d has no device", rank)
		}
		out[rank] = 1
	}
	for range parts - len(devices) {
		to := 0
		for rank := range out {
			if (out[rank]+1)*devices[to] < (out[to]+1)*devices[rank] {
				to = rank
			}
		}
		out[to]++
	}
	return out, nil
}

// Ranks is how many ranks there are.
func (r Ranges) Ranks() int { return len(r) - 1 }

// Parts is how many parts all ranks have.
func (r Ranges) Parts() int { return r[len(r)-1] }

// Of returns the parts of a rank: those from begin on, up to end and without it.
func (r Ranges) Of(rank int) (begin, end int) { return r[rank], r[rank+1] }

// Rank returns the rank that has a part.
func (r Ranges) Rank(part int) int { return sort.SearchInts(r, part+1) - 1 }
