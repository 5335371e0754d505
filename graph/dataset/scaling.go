package dataset

import (
	"fmt"
	"math"
)

// Values of Options.Standardize, besides Auto.
const (
	// StandardizeNone keeps features as stored.
	StandardizeNone = "none"
	// StandardizeTrain takes (x - mean) / deviation of each column, both of the training rows.
	StandardizeTrain = "train"
	// StandardizeRows divides each row by the sum of its absolute values, as the GCN paper's code does (Kipf & Welling, 5.2); rows of zeros stay.
	StandardizeRows = "rows"
)

// Scaling is what standardising does to each column: (x - Mean) / Deviation, or x - Mean where the deviation is 0.
type Scaling struct{ Mean, Deviation []float64 }

// Reordered returns the scaling of columns in another order, in which column i is column to[i].
func (s *Scaling) Reordered(to []int) *Scaling {
	out := &Scaling{make([]float64, len(to)), make([]float64, len(to))}
	for i, k := range to {
		out.Mean[k], out.Deviation[k] = s.Mean[i], s.Deviation[i]
	}
	return out
}

// Check says what is wrong with a scaling for so many columns.
func (s *Scaling) Check(cols int) error {
	if len(s.Mean) != cols || len(s.Deviation) != cols {
		return fmt.Errorf("has %d columns, mean and deviation are of %d and %d", cols, len(s.Mean), len(s.Deviation))
	}
	for c := range cols {
		if m, d := s.Mean[c], s.Deviation[c]; math.IsNaN(m) || math.IsInf(m, 0) || !(d >= 0) || math.IsInf(d, 0) {
			return fmt.Errorf("column %d: mean %g and deviation %g cannot be used", c, m, d)
		}
	}
	return nil
}
