//go:build !noasm

package kernel

// SoftmaxRow: e[j] = exp(x[j] - top), top = max_j x[j]; sum = Σ_j e[j], of the rounded numbers. e may be x. There is at
// least one element.
func SoftmaxRow(e, x []float32) (top float32, sum float64) {
	e = e[:len(x)]
	switch Active {
	case avx512:
		return softmax512row(len(x), &e[0], &x[0])
	case avx2:
		return softmax256row(len(x), &e[0], &x[0])
	}
	return softmaxRowGo(e, x)
}

// BCERow takes up to BCEGroup elements. With v = x[j], or -x[j] where targets[j] is 1, and e_j = exp(-|v|):
//
//	grad[j] = σ(v)·scale, or -σ(v)·scale where targets[j] is 1;  sum = Σ_j max(v, 0);  product = Π_j (1 + e_j)
//
// so that the loss is sum + log(product). The gradient has no cancellation. grad may be x.
func BCERow(grad, x []float32, targets []uint8, scale float32) (sum, product float64) {
	n := len(x)
	grad, targets = grad[:n], targets[:n]
	switch {
	case Active == generic:
		return bceRowGo(grad, x, targets, scale)
	case Active == avx512:
		return bce512row(n, &grad[0], &x[0], &targets[0], scale)
	}
	// The kernel reads eight targets at a time: the last ones go through eight of its own.
	product = 1
	whole := n &^ 7
	if whole > 0 {
		sum, product = bce256row(whole, &grad[0], &x[0], &targets[0], scale)
	}
	if whole < n {
		var last [8]uint8
		copy(last[:], targets[whole:])
		s, p := bce256row(n-whole, &grad[whole], &x[whole], &last[0], scale)
		sum, product = sum+s, product*p
	}
	return sum, product
}
