package learn

import (
	"math"

	"capgnn/gnn"
)

// Metrics are scores in [0, 1], and the loss of validation without dropout; nil = the split is empty, or its loss is
// not finite.
type Metrics struct {
	Train, Val, Test *float64
	ValLoss          *float64 `json:",omitempty"`
	ByClass          *ByClass `json:",omitempty"` // of the test split; nil: it is empty, or there are more than MaxClasses
	Estimated        bool     `json:",omitempty"` // of logits that read a sample of neighbours
}

// Better reports whether weights with metrics m take the place of the best ones so far: their score of validation is
// higher or, byLoss, their loss of validation is less. A loss that is not finite is never less. Without validation the
// newest weights are the best.
func (m Metrics) Better(best Metrics, byLoss bool) bool {
	if byLoss {
		return best.ValLoss == nil || m.ValLoss != nil && *m.ValLoss < *best.ValLoss
	}
	return m.Val == nil || best.Val == nil || *m.Val > *best.Val
}

// Watched returns the score of validation and its loss as numbers; no numbers where there are none.
func (m Metrics) Watched() (score, loss float64) {
	number := func(x *float64) float64 {
		if x == nil {
			return math.NaN()
		}
		return *x
	}
	return number(m.Val), number(m.ValLoss)
}

// Tally is the evidence for the metric of one split.
type Tally struct {
	Correct, Total int // single-label: vertices
	F1             gnn.F1Counts
	Members        int    // multi-label: vertices
	Loss           Number // over so many terms
	Terms          int
	Classes        []gnn.F1Counts `json:",omitempty"` // by class, of the test split and for MacroF1; nil: not counted
}

// Add returns the evidence of both.
func (a Tally) Add(b Tally) Tally {
	return Tally{a.Correct + b.Correct, a.Total + b.Total, a.F1.Add(b.F1), a.Members + b.Members, a.Loss + b.Loss,
		a.Terms + b.Terms, addClasses(a.Classes, b.Classes)}
}

// addClasses adds counts by class, where there are some.
func addClasses(a, b []gnn.F1Counts) []gnn.F1Counts {
	if a == nil || b == nil {
		return append(a, b...)
	}
	sum := make([]gnn.F1Counts, len(a))
	for c := range a {
		sum[c] = a[c].Add(b[c])
	}
	return sum
}

// takeLoss sets the loss.
func (a *Tally) takeLoss(l gnn.LossSum) { a.Loss, a.Terms = Number(l.Sum), l.Terms }

// FiniteLoss returns the mean loss of the split; nil where it has no vertex or the loss is no number.
func (a Tally) FiniteLoss() *float64 {
	mean := gnn.LossSum{Sum: float64(a.Loss), Terms: a.Terms}.Mean()
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return nil
	}
	return &mean
}

// Splits, by their places: validation is the one whose loss is added up, test the one of which a ByClass is.
const validation, test = 1, 2

// Evidence is what has been counted of some vertices.
type Evidence struct {
	Splits [len(splitNames)]Tally
	Ranked [len(splitNames)][]gnn.Ranked `json:"-"` // by label, of a Task that Ranks
	// Confused counts the test split in place of its Tally, as gnn.Confuse does; nil: it has no vertex here, or
	// problems of its kind have a Tally.
	Confused []int `json:",omitempty"`
}

// sumOf adds up what parts have counted.
func sumOf(all []Evidence) (sum [len(splitNames)]Tally) {
	for i := range all {
		for s := range sum {
			sum[s] = sum[s].Add(all[i].Splits[s])
		}
	}
	return sum
}

// MetricsOf returns the scores of all vertices: of what the parts of one process have counted.
func MetricsOf(t Task, all []Evidence) Metrics {
	m := t.Counted(all)
	if t.Ranks() {
		r, _ := t.Rank(func(split, label int) (r gnn.Ranked, err error) {
			for i := range all {
				if of := all[i].Ranked[split]; of != nil {
					r.Pos, r.Neg = append(r.Pos, of[label].Pos...), append(r.Neg, of[label].Neg...)
				}
			}
			return r, nil
		})
		m.Train, m.Val, m.Test = r.Train, r.Val, r.Test
	}
	return m
}
