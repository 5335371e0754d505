package kernel

import (
	"math"

	"capgnn/gpu"
)

// Map is a resolved gpu.MapArgs: without By its factor is 1.
type Map struct {
	Dst, Src, By Dense
	F            gpu.Function
	A, B, Beta   float32
	Slope        bool
}

// Row makes row i of Dst. room holds as many elements as a row.
func (m *Map) Row(i int, room []float32) {
	y, x := m.Dst.Row(i), one(m.Src, i)
	f := room[:len(y)]
	switch {
	case len(x) == 1:
		v := m.of(x[0])
		for j := range f {
			f[j] = v
		}
	case m.F == gpu.MapIdentity && !m.Slope:
		f = x
	default:
		for j, v := range x {
			f[j] = m.of(v)
		}
	}
	by := one(m.By, i)
	switch {
	case by == nil:
		Axpby(y, 1, f, m.Beta)
	case len(by) == 1:
		Axpby(y, by[0], f, m.Beta)
	case m.Beta == 0:
		for j, v := range f {
			y[j] = v * by[j]
		}
	default:
		for j, v := range f {
			y[j] = v*by[j] + m.Beta*y[j]
		}
	}
}

// one returns row i of m, or its only one; nil if it has none.
func one(m Dense, i int) []float32 {
	if m.Empty() {
		return nil
	}
	return m.Row(min(i, m.Rows-1))
}

// of returns the function of x, or its derivative.
func (m *Map) of(x float32) float32 {
	if m.Slope {
		return m.slope(x)
	}
	switch m.F {
	case gpu.MapLeaky:
		if x > 0 {
			return x
		}
		return m.A * x
	case gpu.MapELU:
		if x > 0 {
			return x
		}
		return m.A * expm1(x)
	case gpu.MapTanh:
		return activated(gpu.Tanh, x)
	case gpu.MapGELU:
		return x * normal(x)
	case gpu.MapSigmoid:
		return sigmoid(x)
	case gpu.MapSiLU:
		return x * sigmoid(x)
	case gpu.MapSoftplus:
		return max(x, 0) + float32(math.Log1p(float64(exp(-absolute(x)))))
	case gpu.MapExp:
		return exp(x)
	case gpu.MapLog:
		return float32(math.Log(float64(x)))
	case gpu.MapSqrt:
		return float32(math.Sqrt(float64(x)))
	case gpu.MapSquare:
		return x * x
	case gpu.MapPower:
		return float32(math.Pow(float64(x), float64(m.A)))
	case gpu.MapClamp:
		return min(max(x, m.A), m.B)
	case gpu.MapReciprocal:
		return 1 / x
	case gpu.MapZero:
		if x == 0 {
			return 1
		}
		return 0 * x
	}
	return x
}

// slope returns the derivative at x.
func (m *Map) slope(x float32) float32 {
	switch m.F {
	case gpu.MapLeaky, gpu.MapELU:
		switch {
		case x > 0:
			return 1
		case m.F == gpu.MapELU:
			return m.A * exp(x)
		}
		return m.A
	case gpu.MapTanh:
		t := activated(gpu.Tanh, x)
		return 1 - float32(t*t)
	case gpu.MapGELU:
		return normal(x) + x*exp(-x*x/2)*float32(1/math.Sqrt2/math.SqrtPi)
	case gpu.MapSigmoid:
		s, other := sigmoids(x)
		return s * other
	case gpu.MapSiLU:
		s, other := sigmoids(x)
		return s * (1 + x*other)
	case gpu.MapSoftplus:
		return sigmoid(x)
	case gpu.MapExp:
		return exp(x)
	case gpu.MapLog:
		return 1 / x
	case gpu.MapSqrt:
		return float32(0.5 / math.Sqrt(float64(x)))
	case gpu.MapSquare:
		return 2 * x
	case gpu.MapPower:
		if m.A == 0 {
			return 0
		}
		return float32(float64(m.A) * math.Pow(float64(x), float64(m.A)-1))
	case gpu.MapClamp:
		switch {
		case x >= m.A && x <= m.B:
			return 1
		case x != x:
			return x
		}
		return 0
	case gpu.MapReciprocal:
		return -1 / (x * x)
	case gpu.MapZero:
		return 0
	}
	return 1
}

func absolute(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ signBit) }

// sigmoid returns 1/(1 + e^-x).
func sigmoid(x float32) float32 {
	s, _ := sigmoids(x)
	return s
}

// sigmoids returns the sigmoids of x and of -x, made of e^-|x|.
func sigmoids(x float32) (s, other float32) {
	e := exp(-absolute(x))
	s = 1 / (1 + e)
	if other = e * s; x < 0 {
		return other, s
	}
	return s, other
}

// normal returns the normal distribution's share below x, (1 + erf(x/√2))/2, with an error below 2e-7.
//
// Method: erf(z) = z·p(z²)/q(z²) for |z| ≤ 4, the quotient of polynomials that Eigen has (generic_fast_erf).
func normal(x float32) float32 {
	z := min(max(x*(1/math.Sqrt2), -4), 4)
	s := z * z
	p := float32(-2.72614225801306e-10)
	p = float32(p*s) + 2.77068142495902e-08
	p = float32(p*s) - 2.10102402082508e-06
	p = float32(p*s) - 5.69250639462346e-05
	p = float32(p*s) - 7.34990630326855e-04
	p = float32(p*s) - 2.95459980854025e-03
	p = float32(p*s) - 1.60960333262415e-02
	q := float32(-1.45660718464996e-05)
	q = float32(q*s) - 2.13374055278905e-04
	q = float32(q*s) - 1.68282697438203e-03
	q = float32(q*s) - 7.37332916720468e-03
	q = float32(q*s) - 1.42647390514189e-02
	return 0.5 + 0.5*(z*p/q)
}

// exp returns e^x, with an error below 2 units in the last place: expm1 has the method.
func exp(x float32) float32 {
	const (
		round       = 3 << 22
		log2e       = float32(math.Log2E)
		least, most = -110, 90 // beyond e^x is 0, or no float32
	)
	if x < least {
		x = least
	}
	if x > most {
		x = most
	}
	n := float32(x*log2e) + round - round
	r := x - float32(n*0.693359375)
	r -= float32(n * -2.12194440e-4)
	q := float32(1.9875691500e-4)
	q = float32(q*r) + 1.3981999507e-3
	q = float32(q*r) + 8.3334519073e-3
	q = float32(q*r) + 4.1665795894e-2
	q = float32(q*r) + 1.6666665459e-1
	q = float32(q*r) + 0.5
	e := float32(float32(r*r)*q) + r + 1
	return float32(float64(e) * math.Float64frombits(uint64(int64(n)+1023)<<52))
}
