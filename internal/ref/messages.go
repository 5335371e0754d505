package ref

import "math"

// Messages holds the arguments of gpu.MessageArgs, with one block of entries; R and X may be left out.
type Messages struct {
	A               CSR
	R, C, X         Matrix
	F               func(x float64) float64
	Max, Accumulate bool
	Y               Matrix // read if Accumulate
}

// Run returns Y[r][j] = Σ_e Val[e]·f(R[r][j] + C[s][j])·X[s][j] (+ Y[r][j] if Accumulate), or the largest of the messages f(…)·X[s][j]
// with Val[e] ≠ 0, and the sum of the absolute values of what is added.
func (a Messages) Run() (y, size Matrix) {
	y, size = NewMatrix(a.A.Rows, a.C.Cols), NewMatrix(a.A.Rows, a.C.Cols)
	if a.Accumulate {
		y = a.Y.Clone()
	}
	for r := range a.A.Rows {
		for j := range a.C.Cols {
			sum, most, total := 0.0, math.Inf(-1), 0.0
			for _, e := range a.A.Row(r) {
				z, x := a.C.At(e.Col, j), 1.0
				if a.R.Rows > 0 {
					z += a.R.At(r, j)
				}
				if a.X.Rows > 0 {
					x = a.X.At(e.Col, j)
				}
				m := a.F(z) * x
				sum += e.Val * m
				total += math.Abs(e.Val * m)
				if e.Val != 0 {
					most = max(most, m)
				}
			}
			switch size.Row(r)[j] = total + math.Abs(y.At(r, j)); {
			case !a.Max:
				y.Row(r)[j] += sum
			case !math.IsInf(most, -1):
				y.Row(r)[j] = most
			}
		}
	}
	return y, size
}
