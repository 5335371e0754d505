package rapa

import (
	"errors"
	"fmt"
	"math"
)

// Rate is the measurements of a device that Targets and Lambda need.
type Rate struct {
	// Class groups devices that count as equal, normally the model of the hardware: members of a class get the mean of
	// their times, so noise between equal devices makes no difference. "" = the device is not in a class.
	Class string
	MM    float64 // mean seconds of the profile's dense product, > 0
	SpMM  float64 // mean seconds of the profile's sparse product, > 0
	H2D   float64 // mean seconds of the profile's copy from host to device, > 0; Lambda alone needs it, and the next two
	D2H   float64 // mean seconds of the copy back, > 0
	IDT   float64 // mean seconds of the copy inside the device's memory, > 0
	// MemoryBytes is the device's memory for its part, without fixed costs; 0 = no limit.
	MemoryBytes int64
}

// rateStep is the grid on which capabilities are rounded: a rate counts in whole powers of 1.05 below the best.
const rateStep = 1.05

// Targets returns each device's share of the work.
//
// Returns: positive shares that sum to 1. bytes is what all parts together need on the devices in proportion to their
// share; a device's share times bytes stays within its MemoryBytes. It fails with *InfeasibleError if that cannot be.
//
// Method: the capability of device i is 1/(α·spmm_i/spmm_max + (1-α)·mm_i/mm_max), relative to the best one and rounded
// to whole powers of 1.05; shares are proportional to it. A share above what its memory holds is cut to that, and the
// rest is spread over the others in proportion, until none is above.
//
// Why: rounding keeps the noise of measurements from changing plans; where a rate lies on the border of two steps a plan
// can still change, which is why plans are stored and reused.
//
// Source: docs/determinism.md has the rule of rounding; the weights are those of Eq. 14 of the paper.
func Targets(rates []Rate, alpha float64, bytes int64) ([]float64, error) {
	capability, err := capabilities(rates, alpha)
	if err != nil {
		return nil, fmt.Errorf("targets: %w", err)
	}
	if bytes < 0 {
		return nil, fmt.Errorf("targets: the parts need %d bytes", bytes)
	}
	share := make([]float64, len(rates))
	full := make([]bool, len(rates))
	for {
		left, open := 1.0, 0.0
		for i := range rates {
			if full[i] {
				left -= share[i]
			} else {
				open += capability[i]
			}
		}
		if open == 0 {
			break
		}
		cut := false
		for i, r := range rates {
			if full[i] {
				continue
			}
			share[i] = left * capability[i] / open
			if r.MemoryBytes > 0 && share[i]*float64(bytes) > float64(r.MemoryBytes) {
				share[i], full[i], cut = float64(r.MemoryBytes)/float64(bytes), true, true
			}
		}
		if !cut {
			return share, nil
		}
	}
	// Every device is full; that is feasible only if they hold everything, to rounding.
	have, sum := int64(0), 0.0
	for i, r := range rates {
		have += r.MemoryBytes
		sum += share[i]
	}
	if have < bytes {
		return nil, &InfeasibleError{NeedBytes: bytes, HaveBytes: have}
	}
	for i := range share {
		share[i] /= sum
	}
	return share, nil
}

// capabilities returns the rounded speed of each device, 1 for the best.
func capabilities(rates []Rate, alpha float64) ([]float64, error) {
	if err := checkRates(rates, alpha); err != nil {
		return nil, err
	}
	mean := classMeans(rates)
	mmMax, spmmMax := 0.0, 0.0
	for _, r := range mean {
		mmMax, spmmMax = max(mmMax, r.MM), max(spmmMax, r.SpMM)
	}
	cost := make([]float64, len(rates))
	least := math.Inf(1)
	for i, r := range mean {
		cost[i] = alpha*r.SpMM/spmmMax + (1-alpha)*r.MM/mmMax
		least = min(least, cost[i])
	}
	for i, c := range cost {
		cost[i] = math.Pow(rateStep, -math.Round(math.Log(c/least)/math.Log(rateStep)))
	}
	return cost, nil
}

func checkRates(rates []Rate, alpha float64) error {
	if len(rates) == 0 {
		return errors.New("no devices")
	}
	if !(alpha >= 0 && alpha <= 1) {
		return fmt.Errorf("alpha %g is not in [0, 1]", alpha)
	}
	for i, r := range rates {
		if !(r.MM > 0 && r.SpMM > 0) || math.IsInf(r.MM, 0) || math.IsInf(r.SpMM, 0) || r.MemoryBytes < 0 {
			return fmt.Errorf("device %d: times %g s and %g s, memory %d bytes: profile it again", i, r.MM, r.SpMM, r.MemoryBytes)
		}
	}
	return nil
}

// classMeans returns the rates with every time replaced by its mean over the devices of the same class.
func classMeans(rates []Rate) []Rate {
	mean := make([]Rate, len(rates))
	for i, r := range rates {
		m, members := Rate{Class: r.Class, MemoryBytes: r.MemoryBytes}, 0.0
		for j, s := range rates {
			if j == i || r.Class != "" && s.Class == r.Class {
				m.MM, m.SpMM, m.H2D, m.D2H, m.IDT = m.MM+s.MM, m.SpMM+s.SpMM, m.H2D+s.H2D, m.D2H+s.D2H, m.IDT+s.IDT
				members++
			}
		}
		m.MM, m.SpMM, m.H2D, m.D2H, m.IDT = m.MM/members, m.SpMM/members, m.H2D/members, m.D2H/members, m.IDT/members
		mean[i] = m
	}
	return mean
}
