package rapa

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Assign returns the device of every part so that the largest cost is least.
//
// costs has one entry per device, of which there are at least as many as parts; every device gets at most one part.
// Part i costs costs[d].Of(parts[i]) on device d, if it fits there. have is the memory of each device in bytes, 0 =
// no limit; nil = no limits. If no assignment fits, it fails with *InfeasibleError, which names the parts that are
// too large in the assignment with the smallest largest shortage.
//
// Method: bottleneck assignment. The answer is one of the parts × devices costs, so it is found by bisection over them,
// with a bipartite matching (augmenting paths) as the test. Among the assignments of that cost the one that gives the
// first part the lowest device, then the second, and so on. Exact; O(P³·log P) for the cost, O(P⁵) at worst for the
// order, P a handful.
//
// Why: the paper assigns at random. An epoch takes as long as its slowest device.
func Assign(parts []Counts, costs []PartCost, footprint Footprint, have []int64) ([]int, error) {
	m := Memory{footprint, have}
	if len(parts) > len(costs) {
		return nil, fmt.Errorf("assign parts: %d parts for %d devices", len(parts), len(costs))
	}
	if err := errors.Join(validateCosts(costs), m.validate(len(costs))); err != nil {
		return nil, fmt.Errorf("assign parts: %w", err)
	}
	price := table(len(parts), len(costs), func(i, d int) float64 {
		if !m.Fits(d, parts[i]) {
			return math.Inf(1)
		}
		return costs[d].Of(parts[i])
	})
	if device, worst := bottleneck(price); !math.IsInf(worst, 1) {
		return device, nil
	}
	lack := table(len(parts), len(costs), func(i, d int) float64 { return float64(m.short(d, parts[i])) })
	device, _ := bottleneck(lack)
	limits := make([]int64, len(parts))
	for i, d := range device {
		limits[i] = have[d]
	}
	return nil, fmt.Errorf("assign parts: %w", Memory{footprint, limits}.Check(parts))
}

func table(rows, cols int, entry func(i, j int) float64) [][]float64 {
	t := make([][]float64, rows)
	for i := range t {
		t[i] = make([]float64, cols)
		for j := range t[i] {
			t[i][j] = entry(i, j)
		}
	}
	return t
}

// bottleneck returns the assignment of rows to columns whose largest entry is least, the first in lexicographic order of
// those, and that entry.
func bottleneck(price [][]float64) (column []int, worst float64) {
	var levels []float64
	for _, row := range price {
		levels = append(levels, row...)
	}
	if levels == nil {
		return nil, 0
	}
	slices.Sort(levels)
	lo, hi := 0, len(levels)-1 // the highest level permits everything
	for lo < hi {
		mid := (lo + hi) / 2
		if newMatching(price, levels[mid]).complete(nil) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	worst = levels[lo]
	for range price {
		for c := 0; ; c++ {
			if next := append(slices.Clone(column), c); newMatching(price, worst).complete(next) {
				column = next
				break
			}
		}
	}
	return column, worst
}

// matching pairs rows with columns whose entry does not exceed limit.
type matching struct {
	price [][]float64
	limit float64
	owner []int // row of each column, -1 = none
	seen  []bool
}

func newMatching(price [][]float64, limit float64) *matching {
	m := &matching{price: price, limit: limit, owner: make([]int, len(price[0])), seen: make([]bool, len(price[0]))}
	for c := range m.owner {
		m.owner[c] = -1
	}
	return m
}

// complete reports whether all rows can be paired if the first ones get the columns of fixed.
func (m *matching) complete(fixed []int) bool {
	taken := make([]bool, len(m.owner))
	for i, c := range fixed {
		if taken[c] || m.price[i][c] > m.limit {
			return false
		}
		taken[c] = true
	}
	for i := len(fixed); i < len(m.price); i++ {
		copy(m.seen, taken)
		if !m.augment(i) {
			return false
		}
	}
	return true
}

func (m *matching) augment(i int) bool {
	for c, x := range m.price[i] {
		if m.seen[c] || x > m.limit {
			continue
		}
		m.seen[c] = true
		if m.owner[c] < 0 || m.augment(m.owner[c]) {
			m.owner[c] = i
			return true
		}
	}
	return false
}
