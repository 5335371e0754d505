package fit

import "math"

// Schedule says how the learning rate changes over a run; in the zero value it does not. Rates are those of PyTorch's schedulers, stepped behind every epoch:
// CosineAnnealingLR, StepLR, ReduceLROnPlateau stepped behind every evaluation, and before them LinearLR.
type Schedule struct {
	Kind   Kind
	Warmup int     // epochs at first whose rate rises: (epoch + 1)/(Warmup + 1) of the base; < Epochs
	Min    float64 // the lowest rate, but for the warm-up
	Every  int     // Step: epochs between two cuts; 0 = a third of those behind the warm-up
	Factor float64 // Step and Plateau: of the rate, at each cut, in (0, 1)
	// Patience is how many evaluations a Plateau may have without a better value before a cut.
	Patience int
	ByMetric bool // a Plateau watches the metric of validation, not its loss
}

// Kind is a course of the rate.
type Kind string

// The courses, behind a warm-up.
const (
	Unchanged Kind = ""
	Constant  Kind = "constant"
	Cosine    Kind = "cosine"  // half a cosine wave down to Min, which the epoch after the last one would have
	Step      Kind = "step"    // cut every few epochs
	Plateau   Kind = "plateau" // cut when validation gets no better
)

// Progress is what a Plateau has seen.
type Progress struct {
	Seen   bool    `json:",omitempty"` // an evaluation, and so
	Best   float64 `json:",omitempty"` // the best value
	Waited int     `json:",omitempty"` // evaluations since it, or since the last cut
	Cuts   int     `json:",omitempty"`
}

const (
	// A value counts as better if it differs from the best one by more than the share betterBy. A cut that lowers the rate by leastCut or less is left out. Both are
	// ReduceLROnPlateau's defaults.
	betterBy = 1e-4
	leastCut = 1e-8
)

// Rate returns the rate of an epoch of a run of so many epochs; base is the rate without a schedule.
func (s *Schedule) Rate(base float64, epoch, epochs int, p Progress) float64 {
	if epoch < s.Warmup {
		return base * float64(epoch+1) / float64(s.Warmup+1)
	}
	at, length := epoch-s.Warmup, epochs-s.Warmup
	switch s.Kind {
	case Cosine:
		return s.Min + (base-s.Min)*(1+math.Cos(math.Pi*float64(at)/float64(length)))/2
	case Step:
		return max(s.Min, base*math.Pow(s.Factor, float64(at/s.Interval(epochs))))
	case Plateau:
		for range p.Cuts {
			base = max(s.Min, base*s.Factor)
		}
	}
	return base
}

// Interval returns the epochs between two cuts of a Step, in a run of so many epochs.
func (s *Schedule) Interval(epochs int) int {
	if s.Every > 0 {
		return s.Every
	}
	return max(1, (epochs-s.Warmup+2)/3)
}

// Watch returns what a Plateau has seen once the evaluation after an epoch gives a value (NaN: there is none). Evaluations in the warm-up do not count.
func (s *Schedule) Watch(p Progress, base float64, epoch int, value float64) Progress {
	if s.Kind != Plateau || epoch < s.Warmup {
		return p
	}
	better := value < p.Best*(1-betterBy)
	if s.ByMetric {
		better = value > p.Best*(1+betterBy)
	}
	if better || !p.Seen && value == value {
		p.Seen, p.Best, p.Waited = true, value, 0
		return p
	}
	if p.Waited++; p.Waited > s.Patience {
		p.Waited = 0
		now := s.Rate(base, s.Warmup, 0, p)
		if now-max(s.Min, now*s.Factor) > leastCut {
			p.Cuts++
		}
	}
	return p
}
