package ref

import "math"

// SoftmaxLoss returns Σ_i (log Σ_j exp(x[i][j]) - x[i][labels[i]])·scale over rows with labels[i] ≥ 0, and its gradient.
func SoftmaxLoss(x Matrix, labels []int32, scale float64) (loss float64, grad Matrix) {
	grad = NewMatrix(x.Rows, x.Cols)
	for i, label := range labels {
		if label < 0 {
			continue
		}
		top, sum := math.Inf(-1), 0.0
		for _, v := range x.Row(i) {
			top = math.Max(top, v)
		}
		for _, v := range x.Row(i) {
			sum += math.Exp(v - top)
		}
		loss += (math.Log(sum) + top - x.At(i, int(label))) * scale
		for j, v := range x.Row(i) {
			grad.Row(i)[j] = math.Exp(v-top) / sum * scale
		}
		grad.Row(i)[label] -= scale
	}
	return loss, grad
}

// BCELoss returns Σ (max(x,0) - x·t + log(1 + exp(-|x|)))·scale over rows with mask[i] ≠ 0 (all where mask is nil), and
// its gradient (σ(x) - t)·scale.
func BCELoss(x Matrix, targets, mask []uint8, scale float64) (loss float64, grad Matrix) {
	grad = NewMatrix(x.Rows, x.Cols)
	for i := range x.Rows {
		if mask != nil && mask[i] == 0 {
			continue
		}
		for j, v := range x.Row(i) {
			t := float64(targets[i*x.Cols+j])
			loss += (math.Max(v, 0) - v*t + math.Log1p(math.Exp(-math.Abs(v)))) * scale
			grad.Row(i)[j] = (1/(1+math.Exp(-v)) - t) * scale
		}
	}
	return loss, grad
}
