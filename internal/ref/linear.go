package ref

// Linear holds the arguments of gpu.LinearArgs; RowScale, Bias, X2 and W2 may be left out.
type Linear struct {
	X, W, X2, W2   Matrix
	RowScale, Bias []float64
	Beta           float64
	Z              Matrix // read if Beta ≠ 0
}

// Run returns Z[i][o] = rs[i]·Σ_k X[i][k]·W[o][k] + Σ_k X2[i][k]·W2[o][k] + Beta·Z[i][o] + Bias[o].
func (l Linear) Run() Matrix {
	z := Gemm(l.X, l.W, false, true, 0, Matrix{})
	if l.RowScale != nil {
		z = ScaleRows(z, l.RowScale)
	}
	if l.X2.V != nil {
		z = Axpby(z, 1, Gemm(l.X2, l.W2, false, true, 0, Matrix{}), 1)
	}
	if l.Beta != 0 {
		z = Axpby(z, l.Beta, l.Z, 1)
	}
	return AddBias(z, l.Bias)
}

// AddBias returns z[i][j] + bias[j]; a nil bias is zero.
func AddBias(z Matrix, bias []float64) Matrix {
	return Map(z.Rows, z.Cols, func(i, j int) float64 {
		if bias == nil {
			return z.At(i, j)
		}
		return z.At(i, j) + bias[j]
	})
}
