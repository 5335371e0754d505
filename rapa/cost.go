package rapa

import (
	"errors"
	"fmt"
	"math"
)

// Counts are the quantities of a part that cost time or memory. Loops count nowhere.
type Counts struct {
	Inner int64 `json:"inner"` // |I|: vertices of the part
	Edges int64 `json:"edges"` // |E|: in-edges of the inner vertices that the part reads, those from halo vertices included
	Outer int64 `json:"outer"` // |E_outer|: those of Edges that begin at a halo vertex
	Halo  int64 `json:"halo"`  // |H|: remote vertices that the part reads, each once
	Sent  int64 `json:"sent"`  // Σ over the inner vertices of the other parts in whose halo they are
}

// Add returns the sum of two counts.
func (c Counts) Add(d Counts) Counts {
	return Counts{c.Inner + d.Inner, c.Edges + d.Edges, c.Outer + d.Outer, c.Halo + d.Halo, c.Sent + d.Sent}
}

// PartCost is what a part costs on one device, linear in its counts. The unit is the caller's: seconds per epoch where
// the table comes from measurements or a simulation, the paper's unit where it comes from Lambda.
type PartCost struct {
	Fixed    float64 `json:"fixed"`
	PerInner float64 `json:"per_inner"`
	PerEdge  float64 `json:"per_edge"`
	PerOuter float64 `json:"per_outer"`
	PerHalo  float64 `json:"per_halo"`
	PerSent  float64 `json:"per_sent"`
}

// Of returns the cost of a part: Fixed + PerInner·|I| + PerEdge·|E| + PerOuter·|E_outer| + PerHalo·|H| + PerSent·sent.
func (c PartCost) Of(n Counts) float64 {
	return c.Fixed + c.PerInner*float64(n.Inner) + c.PerEdge*float64(n.Edges) + c.PerOuter*float64(n.Outer) +
		c.PerHalo*float64(n.Halo) + c.PerSent*float64(n.Sent)
}

// weakness orders devices from the weakest, which comes first in Algorithm 3: what an inner vertex with one edge costs.
// On the table of Lambda this is α·spmm_i/spmm_max + (1-α)·mm_i/mm_max.
func (c PartCost) weakness() float64 { return c.PerEdge + c.PerInner }

func (c PartCost) validate() error {
	sum := 0.0
	for _, x := range []float64{c.Fixed, c.PerInner, c.PerEdge, c.PerOuter, c.PerHalo, c.PerSent} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("coefficient %g is not a number ≥ 0", x)
		}
		sum += x
	}
	if sum == c.Fixed {
		return errors.New("nothing that a part holds costs anything")
	}
	return nil
}

func validateCosts(costs []PartCost) error {
	var errs []error
	for i, c := range costs {
		if err := c.validate(); err != nil {
			errs = append(errs, fmt.Errorf("cost of part %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// DefaultAlpha is the weight α of sparse against dense products in Eq. 14.
const DefaultAlpha = 0.5

// Lambda returns the paper's cost λ_i = T_comp(i) + T_comm(i) as a table: part i lies on device i, P = len(rates).
//
//	T_comm(i) = |E_outer(i)| · [(h2d_i/h2d_max + d2h_i/d2h_max)·(1 - 1/P) + (idt_i/idt_max)·(1/P)]
//	T_comp(i) = α·|E(i)|·spmm_i/spmm_max + (1-α)·|I_i|·mm_i/mm_max
//
// All rates are mean times at one n, maxima run over the given devices, and devices of one Class count with the mean of
// their times. With one part there is no outer edge, so the first line costs nothing whatever the rates.
//
// Source: Eq. 13–15 of the paper; its text uses α without a value and its code 0.35.
func Lambda(rates []Rate, alpha float64) ([]PartCost, error) {
	if err := checkRates(rates, alpha); err != nil {
		return nil, fmt.Errorf("cost model: %w", err)
	}
	mean := classMeans(rates)
	var most Rate
	for i, r := range mean {
		if !(r.H2D > 0 && r.D2H > 0 && r.IDT > 0) || math.IsInf(r.H2D+r.D2H+r.IDT, 0) {
			return nil, fmt.Errorf("cost model: device %d: copies of %g s, %g s and %g s: profile it again", i, r.H2D, r.D2H, r.IDT)
		}
		most.MM, most.SpMM = max(most.MM, r.MM), max(most.SpMM, r.SpMM)
		most.H2D, most.D2H, most.IDT = max(most.H2D, r.H2D), max(most.D2H, r.D2H), max(most.IDT, r.IDT)
	}
	costs := make([]PartCost, len(rates))
	p := float64(len(rates))
	for i, r := range mean {
		costs[i] = PartCost{
			PerInner: (1 - alpha) * r.MM / most.MM,
			PerEdge:  alpha * r.SpMM / most.SpMM,
			PerOuter: (r.H2D/most.H2D+r.D2H/most.D2H)*(1-1/p) + r.IDT/most.IDT/p,
		}
	}
	return costs, nil
}
