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

// expBound bounds arguments of exp32: beyond it the result is 0 or +Inf in float32, and 2^k stays a float64.
const expBound = 110

// exp32 returns e^x, correct to one unit in the last place of float32.
func exp32(x float32) float32 { return float32(expNarrow(float64(x))) }

// expNarrow returns e^x with a relative error below 1e-8, for |x| ≤ expBound; beyond, what float32 makes 0 or +Inf.
//
// Method: x = k·ln 2 + r with |r| ≤ ln(2)/2; e^r is its Taylor polynomial of degree 7, whose remainder is at most
// r⁸/8! = 5.2e-9; 2^k is made from its exponent bits. The constant that rounds to an integer puts k into the low bits.
func expNarrow(x float64) float64 {
	const (
		log2e = 1 / math.Ln2
		round = 3 << 51
	)
	if x > expBound {
		x = expBound
	}
	if x < -expBound {
		x = -expBound
	}
	t := x*log2e + round
	r := x - (t-round)*math.Ln2
	r2 := r * r
	p := (1 + r) + r2*((1./2+r*(1./6))+r2*((1./24+r*(1./120))+r2*(1./720+r*(1./5040))))
	return p * math.Float64frombits((math.Float64bits(t)+1023)<<52)
}
