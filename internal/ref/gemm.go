package ref

// Gemm returns op(A)·op(B) + beta·C; with beta = 0, C is not read.
func Gemm(a, b Matrix, transA, transB bool, beta float64, c Matrix) Matrix {
	if transA {
		a = Transpose(a)
	}
	if transB {
		b = Transpose(b)
	}
	return Map(a.Rows, b.Cols, func(i, j int) float64 {
		s := 0.0
		for k := range a.Cols {
			s += a.At(i, k) * b.At(k, j)
		}
		if beta != 0 {
			s += beta * c.At(i, j)
		}
		return s
	})
}
