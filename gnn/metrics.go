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
		if largest(logits[v*classes:(v+1)*classes]) == int(labels[v]) {
			correct++
		}
	}
	return correct, total
}

// largest returns the class of the largest logit: the first of equals, −1 where all are NaN.
func largest(row []float32) int {
	best := -1
	for c, z := range row {
		if z == z && (best < 0 || z > row[best]) {
			best = c
		}
	}
	return best
}

// ClassCounts counts for every class the selected vertices that are of it and were predicted so, that were only predicted, and that only are. Arguments are those of
// Accuracy, which predicts and selects as it does.
func ClassCounts(logits []float32, classes int, labels []int32, mask []bool) []F1Counts {
	checkMetric(len(logits), classes, len(labels), len(mask))
	n := make([]F1Counts, classes)
	for v, in := range mask {
		if !in || labels[v] < 0 {
			continue
		}
		is, said := int(labels[v]), largest(logits[v*classes:(v+1)*classes])
		if is < classes {
			n[is].count(said == is, true)
		}
		if said >= 0 && said != is {
			n[said].FP++
		}
	}
	return n
}

// Confuse adds the selected vertices to into, classes × (classes + 1), row-major: to row i and column j those of class i that were predicted to be of class j, and to the
// last column those that were predicted to be of none, as their logits are all NaN. Arguments are those of Accuracy, which predicts and selects as it does.
func Confuse(into []int, logits []float32, classes int, labels []int32, mask []bool) {
	checkMetric(len(logits), classes, len(labels), len(mask))
	for v, in := range mask {
		if !in || labels[v] < 0 || int(labels[v]) >= classes {
			continue
		}
		said := largest(logits[v*classes : (v+1)*classes])
		if said < 0 {
			said = classes
		}
		into[int(labels[v])*(classes+1)+said]++
	}
}

// LabelCounts is MicroF1 of each label by itself.
func LabelCounts(logits []float32, classes int, targets []uint8, mask []bool) []F1Counts {
	checkMetric(len(logits), classes, len(mask), len(mask))
	n := make([]F1Counts, classes)
	for v, in := range mask {
		if !in {
			continue
		}
		for c := range classes {
			n[c].count(logits[v*classes+c] > 0, targets[v*classes+c] != 0)
		}
	}
	return n
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

// count adds a pair, by whether its label was predicted and whether it applies.
func (a *F1Counts) count(said, is bool) {
	switch {
	case said && is:
		a.TP++
	case said:
		a.FP++
	case is:
		a.FN++
	}
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
			n.count(logits[k] > 0, targets[k] != 0)
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
