package ref

import "math"

// Axpby returns a·src + b·dst; with b = 0, dst is not read.
func Axpby(dst Matrix, a float64, src Matrix, b float64) Matrix {
	return Map(src.Rows, src.Cols, func(i, j int) float64 {
		if b == 0 {
			return a * src.At(i, j)
		}
		return a*src.At(i, j) + b*dst.At(i, j)
	})
}

// ScaleRows returns scale[i]·src[i][j].
func ScaleRows(src Matrix, scale []float64) Matrix {
	return Map(src.Rows, src.Cols, func(i, j int) float64 { return scale[i] * src.At(i, j) })
}

// AddScaled returns dst + (1 + s)·src.
func AddScaled(dst, src Matrix, s float64) Matrix { return Axpby(dst, 1+s, src, 1) }

// Transpose returns src[j][i].
func Transpose(src Matrix) Matrix {
	return Map(src.Cols, src.Rows, func(i, j int) float64 { return src.At(j, i) })
}

// BF16 rounds x to the nearest number with 8 significant bits, ties to the even one; ±Inf beyond the largest.
func BF16(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	_, exp := math.Frexp(x)      // |x| in [2^(exp-1), 2^exp)
	unit := math.Ldexp(1, exp-8) // spacing of numbers with 8 significant bits
	if lo := math.Ldexp(1, -133); unit < lo {
		unit = lo // subnormals
	}
	y := math.RoundToEven(x/unit) * unit
	if math.Abs(y) > math.Ldexp(255, 120) {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return y
}

// RoundBF16 rounds every element.
func RoundBF16(m Matrix) Matrix {
	return Map(m.Rows, m.Cols, func(i, j int) float64 { return BF16(m.At(i, j)) })
}
