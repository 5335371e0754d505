package ref

// Elementwise returns f(src[i][j])·by[i][j] + beta·dst[i][j], of one row or column of src and by for all. by without
// columns is 1.
func Elementwise(f func(x float64) float64, dst, src, by Matrix, beta float64) Matrix {
	at := func(m Matrix, i, j int) float64 { return m.At(min(i, m.Rows-1), min(j, m.Cols-1)) }
	return Map(dst.Rows, dst.Cols, func(i, j int) float64 {
		y := f(at(src, i, j))
		if by.Cols > 0 {
			y *= at(by, i, j)
		}
		if beta != 0 {
			y += beta * dst.At(i, j)
		}
		return y
	})
}
