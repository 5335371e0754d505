package kernel

import (
	"math"

	"capgnn/gpu"
)

// activateGo is Activate in Go.
func activateGo(f gpu.Activation, h, z []float32, keep []uint32, keepScale float32) {
	for j, y := range z {
		switch {
		case keep == nil:
			h[j] = activated(f, y)
		case keep[j>>5]>>(j&31)&1 == 0:
			h[j] = 0
		default:
			h[j] = activated(f, y) * keepScale
		}
	}
}

// activateBackwardGo is ActivateBackward in Go.
func activateBackwardGo(f gpu.Activation, dz, dh, h []float32, keep []uint32, keepScale float32) {
	for j, g := range dh {
		switch {
		case keep == nil:
			dz[j] = g * slopeAt(f, h[j])
		case keep[j>>5]>>(j&31)&1 == 0:
			dz[j] = 0
		default:
			dz[j] = float32(g*keepScale) * slopeAt(f, h[j]/keepScale)
		}
	}
}

// affineGo is Affine in Go.
func affineGo(y, x, gamma, beta []float32) {
	for j, v := range x {
		y[j] = activation(gamma[j], v, beta[j])
	}
}

// activated returns f(y).
func activated(f gpu.Activation, y float32) float32 {
	switch {
	case f == gpu.Tanh: // with u = e^(-2|y|) - 1: -u/(2 + u), with y's sign
		u := expm1(-2 * math.Float32frombits(math.Float32bits(y)&^signBit))
		return math.Float32frombits(math.Float32bits((0-u)/(2+u)) | math.Float32bits(y)&signBit)
	case y > 0:
		return y
	case f == gpu.ELU:
		return expm1(y)
	}
	return gpu.LeakySlope * y
}

// signBit is the sign of a float32.
const signBit = 1 << 31

// slopeAt returns f' where f is h.
func slopeAt(f gpu.Activation, h float32) float32 {
	switch {
	case f == gpu.Tanh:
		return 1 - float32(h*h)
	case h > 0:
		return 1
	case f == gpu.ELU:
		return h + 1
	}
	return gpu.LeakySlope
}

// expm1 returns e^x - 1 for x ≤ 0, with an error below 2 units in the last place.
//
// Method: x = n·ln 2 + r with |r| ≤ ln(2)/2, and e^x - 1 = 2^n·(e^r - 1) + (2^n - 1); e^r - 1 - r is r² times Cephes' polynomial of expf. The constant that rounds to an
// integer puts n into the low bits. Conversions keep products and sums apart: assembly and GPUs compute the same bits.
func expm1(x float32) float32 {
	const (
		round = 3 << 22
		log2e = float32(math.Log2E)
		least = -30 // e^x is then lost beside 1
	)
	if x < least {
		x = least
	}
	t := float32(x*log2e) + round
	n := t - round
	r := x - float32(n*0.693359375)
	r -= float32(n * -2.12194440e-4)
	q := float32(1.9875691500e-4)
	for _, c := range [...]float32{1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5} {
		q = float32(q*r) + c
	}
	q = float32(float32(r*r)*q) + r
	s := math.Float32frombits((math.Float32bits(t) + 127) << 23) // 2^n
	return float32(q*s) + (s - 1)
}
