package kernel

import "math"

// softmaxRowGo is SoftmaxRow in Go.
func softmaxRowGo(e, x []float32) (top float32, sum float64) {
	top = float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	for j, v := range x {
		e[j] = exp32(v - top)
		sum += float64(e[j])
	}
	return top, sum
}

// bceRowGo is BCERow in Go.
func bceRowGo(grad, x []float32, targets []uint8, scale float32) (sum, product float64) {
	product = 1
	for j, v := range x {
		sign := scale
		if targets[j]&1 != 0 {
			v, sign = -v, -scale
		}
		e := expNarrow(-math.Abs(float64(v)))
		product *= 1 + e
		sigma := 1 / (1 + e)
		if v < 0 {
			sigma *= e
		} else {
			sum += float64(v)
		}
		grad[j] = float32(sigma) * sign
	}
	return sum, product
}

// BCEGroup is how many factors 1 + e ≤ 2 are multiplied before one logarithm: 2^512 is a float64.
const BCEGroup = 512
