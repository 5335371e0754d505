package rapa

import (
	"errors"
	"fmt"
)

// TargetsByCost returns the shares of the work at which all parts cost the same.
//
// Returns: positive shares that sum to 1; part i is on device i. whole is the sum of all parts: vertices and edges of
// the graph, and the outer edges, halo and sent rows of some partition of it, which are assumed proportional to the
// share. A device whose fixed cost alone is too high gets a single vertex. A share of the bytes of whole stays within
// the device's memory; if that is impossible, it fails with *InfeasibleError.
//
// Method: share_i(T) = (T - Fixed_i)/(cost of whole on i), held between one vertex and what the memory takes; T by
// bisection so that the shares sum to 1.
//
// Why: Targets uses speeds only; costs per epoch include launches and copies.
func TargetsByCost(costs []PartCost, whole Counts, m Memory) ([]float64, error) {
	if len(costs) == 0 || whole.Inner < int64(len(costs)) {
		return nil, fmt.Errorf("targets: %d devices for %d vertices", len(costs), whole.Inner)
	}
	if err := errors.Join(validateCosts(costs), m.validate(len(costs))); err != nil {
		return nil, fmt.Errorf("targets: %w", err)
	}
	most, err := m.shares(whole, len(costs))
	if err != nil {
		return nil, fmt.Errorf("targets: %w", err)
	}
	least := 1 / float64(whole.Inner)
	share := make([]float64, len(costs))
	fill := func(t float64) (sum float64) {
		for i, c := range costs {
			slope := c.Of(whole) - c.Fixed
			share[i] = most[i]
			if slope*most[i] > t-c.Fixed {
				share[i] = max(least, (t-c.Fixed)/slope)
			}
			sum += share[i]
		}
		return sum
	}
	lo, hi := 0.0, 0.0
	for _, c := range costs {
		hi = max(hi, c.Of(whole))
	}
	for range 100 {
		if mid := (lo + hi) / 2; fill(mid) < 1 {
			lo = mid
		} else {
			hi = mid
		}
	}
	sum := fill(hi)
	for i := range share {
		share[i] /= sum
	}
	return share, nil
}

// shares returns the largest share of whole that each device holds, at most 1.
func (m Memory) shares(whole Counts, devices int) ([]float64, error) {
	most := make([]float64, devices)
	growing := m.Footprint.Of(whole) - m.Footprint.Fixed
	room, sum := int64(0), 0.0
	for i := range most {
		most[i] = 1
		if m.Have != nil && m.Have[i] > 0 && growing > 0 {
			most[i] = min(1, max(0, float64(m.Have[i]-m.Footprint.Fixed)/float64(growing)))
			room += m.Have[i]
		}
		sum += most[i]
		if most[i]*float64(whole.Inner) < 1 {
			need := m.Footprint.Fixed + growing/whole.Inner + 1
			return nil, &InfeasibleError{NeedBytes: need, HaveBytes: m.Have[i], Short: []Shortage{{i, need, m.Have[i], -1}}}
		}
	}
	if sum < 1 {
		return nil, &InfeasibleError{NeedBytes: growing + int64(devices)*m.Footprint.Fixed, HaveBytes: room}
	}
	return most, nil
}
