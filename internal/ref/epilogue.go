package ref

import "math"

// Activation is a gpu.Activation, by the same numbers.
type Activation uint8

// The activations, in the order of package gpu.
const (
	NoActivation Activation = iota
	ReLU
	LeakyReLU
	ELU
	Tanh
)

// leakySlope is float32's number next to 0.01.
const leakySlope = float64(float32(0.01))

// At returns f(y) and f'(y). Behind the corner of ReLU and LeakyReLU at 0 comes their left side.
func (a Activation) At(y float64) (h, slope float64) {
	switch a {
	case ReLU:
		if !(y > 0) {
			return math.Max(y, 0), 0
		}
	case LeakyReLU:
		if !(y > 0) {
			return leakySlope * y, leakySlope
		}
	case ELU:
		if !(y > 0) {
			return math.Expm1(y), math.Exp(y)
		}
	case Tanh:
		h = math.Tanh(y)
		return h, 1 - h*h
	}
	return y, 1
}

// Epilogue holds the settings of gpu.Epilogue. Keep tells which elements dropout keeps; nil: no dropout.
type Epilogue struct {
	Norm        bool
	Gamma, Beta []float64
	Eps         float64
	Act         Activation
	Keep        func(i, j int) bool
	P           float64
}

// Forward returns the normalised rows x (z itself without Norm), the result h, and rstd of each row.
func (e Epilogue) Forward(z Matrix) (x, h Matrix, rstd []float64) {
	x, h, rstd = z.Clone(), NewMatrix(z.Rows, z.Cols), make([]float64, z.Rows)
	n := float64(z.Cols)
	for i := range z.Rows {
		if e.Norm {
			mu, variance := 0.0, 0.0
			for _, v := range z.Row(i) {
				mu += v / n
			}
			for _, v := range z.Row(i) {
				variance += (v - mu) * (v - mu) / n
			}
			rstd[i] = 1 / math.Sqrt(variance+e.Eps)
			for j, v := range z.Row(i) {
				x.Row(i)[j] = (v - mu) * rstd[i]
			}
		}
		for j := range z.Cols {
			y, _ := e.Act.At(e.Activation(j, x.At(i, j)))
			h.Row(i)[j] = y * e.factor(i, j)
		}
	}
	return x, h, rstd
}

// Activation returns y before the activation: Gamma[j]·x + Beta[j], or x without Norm.
func (e Epilogue) Activation(j int, x float64) float64 {
	if !e.Norm {
		return x
	}
	return e.Gamma[j]*x + e.Beta[j]
}

// factor returns what dropout multiplies element (i, j) by: 1/(1-P), 0, or 1 without dropout.
func (e Epilogue) factor(i, j int) float64 {
	switch {
	case e.Keep == nil:
		return 1
	case e.Keep(i, j):
		return 1 / (1 - e.P)
	}
	return 0
}

// EpilogueGrad is the gradient through an Epilogue.
type EpilogueGrad struct {
	DZ                   Matrix
	DGamma, DBeta, DBias []float64
}

// Backward returns the gradient for dh, with x and rstd of Forward.
func (e Epilogue) Backward(dh, x Matrix, rstd []float64) EpilogueGrad {
	n := dh.Cols
	r := EpilogueGrad{NewMatrix(dh.Rows, n), make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range dh.Rows {
		g := r.DZ.Row(i)
		for j := range g {
			_, slope := e.Act.At(e.Activation(j, x.At(i, j)))
			g[j] = dh.At(i, j) * e.factor(i, j) * slope
		}
		if e.Norm {
			for j := range g {
				r.DGamma[j] += g[j] * x.At(i, j)
				r.DBeta[j] += g[j]
				g[j] *= e.Gamma[j]
			}
			mean, meanX := 0.0, 0.0
			for j := range g {
				mean += g[j] / float64(n)
				meanX += g[j] * x.At(i, j) / float64(n)
			}
			for j := range g {
				g[j] = rstd[i] * (g[j] - mean - x.At(i, j)*meanX)
			}
		}
		for j := range g {
			r.DBias[j] += g[j]
		}
	}
	return r
}
