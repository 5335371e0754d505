package ref

// ColSum returns Σ_i m[i][j] + b·dst[j]; with b = 0, dst is not read.
func ColSum(dst []float64, m Matrix, b float64) []float64 {
	s := make([]float64, m.Cols)
	for j := range s {
		for i := range m.Rows {
			s[j] += m.At(i, j)
		}
		if b != 0 {
			s[j] += b * dst[j]
		}
	}
	return s
}

// Dot returns Σ_i Σ_j x[i][j]·y[i][j].
func Dot(x, y Matrix) float64 {
	s := 0.0
	for i, v := range x.V {
		s += v * y.V[i]
	}
	return s
}
