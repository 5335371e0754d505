package learn

import (
	"math"

	"capgnn/gnn"
	"capgnn/graph"
)

// Metrics are scores in [0, 1]; nil = the split is empty.
type Metrics struct {
	Train, Val, Test *float64
}

// Tally is the evidence for the metric of one split.
type Tally struct {
	Correct, Total int // single-label: vertices
	F1             gnn.F1Counts
	Members        int    // multi-label: vertices
	Loss           Number // over so many terms
	Terms          int
}

// Add returns the evidence of both.
func (a Tally) Add(b Tally) Tally {
	return Tally{a.Correct + b.Correct, a.Total + b.Total, a.F1.Add(b.F1), a.Members + b.Members, a.Loss + b.Loss, a.Terms + b.Terms}
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
	in := make([]bool, len(ids))
	for i, v := range ids {
		in[i] = mask[v]
	}
	if p.Targets != nil {
		targets := make([]uint8, 0, len(ids)*p.Classes)
		for _, v := range ids {
			targets = append(targets, p.Targets[int(v)*p.Classes:][:p.Classes]...)
			if mask[v] {
				n.Members++
			}
		}
		n.F1 = gnn.MicroF1(logits, p.Classes, targets, in)
		if loss {
			n.takeLoss(gnn.BinaryCrossEntropy(logits, p.Classes, targets, in))
		}
		return n
	}
	labels := make([]int32, len(ids))
	for i, v := range ids {
		labels[i] = p.Labels[v]
	}
	n.Correct, n.Total = gnn.Accuracy(logits, p.Classes, labels, in)
	if loss {
		n.takeLoss(gnn.CrossEntropy(logits, p.Classes, labels, in))
	}
	return n
}
