package gnn

import "fmt"

// Accuracy counts the selected vertices whose largest logit is their label's; correct/total is the accuracy. Counts of
// several parts can be added up, so a metric does not depend on how the graph is cut.
//
// logits is vertices × classes, row-major; labels and mask have one element per vertex. A vertex counts if its mask is
// true and its label is not −1 (unlabelled); an empty mask selects nothing. Of equal logits the first is the largest. NaN
// is never the largest; a row of NaN alone is wrong.
func Accuracy(logits []float32, classes int, labels []int32, mask []bool) (correct, total int) {
	checkMetric(len(logits), classes, len(labels), len(mask))
	for v, in := range mask {
		if !in || labels[v] < 0 {
			continue
		}
		total++
		best := -1
		row := logits[v*classes : (v+1)*classes]
		for c, z := range row {
			if z == z && (best < 0 || z > row[best]) {
				best = c
			}
		}
		if best == int(labels[v]) {
			correct++
		}
	}
	return correct, total
}

// F1Counts is the evidence for a micro-averaged F1 score over (vertex, label) pairs: true positives, false positives and
// false negatives.
type F1Counts struct {
	TP, FP, FN int
}

// Add returns the counts of a and b together.
func (a F1Counts) Add(b F1Counts) F1Counts { return F1Counts{a.TP + b.TP, a.FP + b.FP, a.FN + b.FN} }

// Score returns 2TP / (2TP + FP + FN), in [0, 1]; 0 where nothing is positive and nothing was predicted so.
func (a F1Counts) Score() float64 {
	if a.TP == 0 {
		return 0
	}
	return 2 * float64(a.TP) / float64(2*a.TP+a.FP+a.FN)
}

// MicroF1 counts the predictions (logit > 0, so NaN is negative) of the selected vertices. logits and targets (1 = the
// label applies) are vertices × classes, row-major; mask has one element per vertex, an empty one selects nothing.
func MicroF1(logits []float32, classes int, targets []uint8, mask []bool) F1Counts {
	if len(targets) != len(logits) {
		panic(fmt.Sprintf("gnn: %d targets for %d logits", len(targets), len(logits)))
	}
	checkMetric(len(logits), classes, len(mask), len(mask))
	var n F1Counts
	for v, in := range mask {
		if !in {
			continue
		}
		for k := v * classes; k < (v+1)*classes; k++ {
			switch positive := logits[k] > 0; {
			case positive && targets[k] != 0:
				n.TP++
			case positive:
				n.FP++
			case targets[k] != 0:
				n.FN++
			}
		}
	}
	return n
}

// checkMetric panics where the shapes of a metric's operands do not agree.
func checkMetric(logits, classes, labels, mask int) {
	if mask != 0 && (logits != mask*classes || labels != mask) {
		panic(fmt.Sprintf("gnn: %d logits of %d classes, %d labels, %d mask elements", logits, classes, labels, mask))
	}
}
