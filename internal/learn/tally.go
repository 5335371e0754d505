package learn

import (
	"math"

	"capgnn/gnn"
	"capgnn/graph"
)

// Metrics are scores in [0, 1], and the loss of validation without dropout; nil = the split is empty, or its loss is not finite.
type Metrics struct {
	Train, Val, Test *float64
	ValLoss          *float64 `json:",omitempty"`
	ByClass          *ByClass `json:",omitempty"` // of the test split; nil: it is empty, or there are more than MaxClasses
	Estimated        bool     `json:",omitempty"` // of logits that read a sample of neighbours
}

// Better reports whether weights with metrics m take the place of the best ones so far: their score of validation is higher or, byLoss, their loss of validation is less. A
// loss that is not finite is never less. Without validation the newest weights are the best.
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
	return Tally{a.Correct + b.Correct, a.Total + b.Total, a.F1.Add(b.F1), a.Members + b.Members, a.Loss + b.Loss, a.Terms + b.Terms, addClasses(a.Classes, b.Classes)}
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

// Score returns accuracy, or micro-F1 for multi-label problems; nil if there is no vertex.
func (a Tally) Score(multi bool) *float64 {
	value := a.F1.Score()
	if !multi {
		value = float64(a.Correct) / float64(max(a.Total, 1))
	}
	if a.Total+a.Members == 0 {
		return nil
	}
	return &value
}

// FiniteLoss returns the mean loss of the split; nil where it has no vertex or the loss is no number.
func (a Tally) FiniteLoss() *float64 {
	mean := gnn.LossSum{Sum: float64(a.Loss), Terms: a.Terms}.Mean()
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return nil
	}
	return &mean
}

// Count compares the logits of some vertices with what is known about those of them that are in mask; loss adds that of them.
func (p *Problem) Count(ids []graph.NodeID, logits []float32, mask []bool, loss bool) Tally {
	var n Tally
	if len(mask) == 0 {
		return n
	}
	in, labels, targets := p.pick(ids, mask)
	if p.Targets != nil {
		for _, member := range in {
			if member {
				n.Members++
			}
		}
		n.F1 = gnn.MicroF1(logits, p.Classes, targets, in)
		if loss {
			n.takeLoss(gnn.BinaryCrossEntropy(logits, p.Classes, targets, in))
		}
		return n
	}
	n.Correct, n.Total = gnn.Accuracy(logits, p.Classes, labels, in)
	if loss {
		n.takeLoss(gnn.CrossEntropy(logits, p.Classes, labels, in))
	}
	return n
}

// pick returns what is known about some vertices: whether they are in mask, and their labels or targets.
func (p *Problem) pick(ids []graph.NodeID, mask []bool) (in []bool, labels []int32, targets []uint8) {
	in = make([]bool, len(ids))
	for i, v := range ids {
		in[i] = mask[v]
	}
	if p.Targets != nil {
		targets = make([]uint8, 0, len(ids)*p.Classes)
		for _, v := range ids {
			targets = append(targets, p.TargetsOf(v)...)
		}
		return in, nil, targets
	}
	labels = make([]int32, len(ids))
	for i, v := range ids {
		labels[i] = p.label(v)
	}
	return in, labels, nil
}
