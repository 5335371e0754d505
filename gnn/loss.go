package gnn

import "math"

// LossSum is a loss summed over terms: vertices with one class, (vertex, label) pairs with many. Sums of several parts can be
// added up.
type LossSum struct {
	Sum   float64
	Terms int
}

// Add returns the sum of a and b together.
func (a LossSum) Add(b LossSum) LossSum { return LossSum{a.Sum + b.Sum, a.Terms + b.Terms} }

// Mean returns the loss of a mean term, NaN without terms.
func (a LossSum) Mean() float64 { return a.Sum / float64(a.Terms) }

// CrossEntropy returns the cross-entropy of the selected vertices, Σ_v (log Σ_j exp(logits[v][j]) - logits[v][labels[v]]), as
// gpu.Queue.SoftmaxLoss defines it. Arguments are those of Accuracy, which selects the same vertices; a label beyond the
// classes counts as infinitely wrong.
func CrossEntropy(logits []float32, classes int, labels []int32, mask []bool) LossSum {
	checkMetric(len(logits), classes, len(labels), len(mask))
	var s LossSum
	for v, in := range mask {
		if !in || labels[v] < 0 {
			continue
		}
		s.Terms++
		if int(labels[v]) >= classes {
			s.Sum = math.Inf(1)
			continue
		}
		row := logits[v*classes : (v+1)*classes]
		top := row[0]
		for _, z := range row {
			top = max(top, z)
		}
		sum := 0.0
		for _, z := range row {
			sum += math.Exp(float64(z) - float64(top))
		}
		s.Sum += math.Log(sum) + float64(top) - float64(row[labels[v]])
	}
	return s
}

// BinaryCrossEntropy returns the cross-entropy of every label of the selected vertices,
// Σ_v Σ_j (max(x,0) - x·t + log(1 + exp(-|x|))) with x = logits[v][j] and t = targets[v][j], as gpu.Queue.BCELoss defines it.
// Arguments are those of MicroF1.
func BinaryCrossEntropy(logits []float32, classes int, targets []uint8, mask []bool) LossSum {
	checkMetric(len(logits), classes, len(mask), len(mask))
	var s LossSum
	for v, in := range mask {
		if !in {
			continue
		}
		for j := range classes {
			x := float64(logits[v*classes+j])
			s.Sum += max(x, 0) - x*float64(targets[v*classes+j]) + math.Log1p(math.Exp(-math.Abs(x)))
		}
		s.Terms += classes
	}
	return s
}
