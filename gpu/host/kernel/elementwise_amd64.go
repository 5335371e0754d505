//go:build !noasm

package kernel

// short is the length below which a Go loop beats a masked vector, whose stores are slow to be read again.
const short = 8

// axpbyRow is Axpby of one element or more.
func axpbyRow(dst []float32, a float32, src []float32, b float32) {
	n := len(dst)
	switch {
	case Active == generic || n < short:
		axpbyGo(dst, a, src, b)
	case Active == avx512 && b == 0:
		axpby512scale(n, &dst[0], a, &src[0], b)
	case Active == avx512 && b == 1:
		axpby512add(n, &dst[0], a, &src[0], b)
	case Active == avx512:
		axpby512mix(n, &dst[0], a, &src[0], b)
	case b == 0:
		axpby256scale(n, &dst[0], a, &src[0], b)
	case b == 1:
		axpby256add(n, &dst[0], a, &src[0], b)
	default:
		axpby256mix(n, &dst[0], a, &src[0], b)
	}
}

// dotWideRow is DotWide of one element or more.
func dotWideRow(a, b []float32) float64 {
	switch {
	case Active == generic || len(a) < short:
		return dotWideGo(a, b)
	case Active == avx512:
		return dot512wide(len(a), &a[0], &b[0])
	}
	return dot256wide(len(a), &a[0], &b[0])
}

// Run updates elements lo to hi, of which there is at least one.
func (s *Adam) Run(lo, hi int) {
	step := adam512step
	switch Active {
	case generic:
		s.runGo(lo, hi)
		return
	case avx2:
		step = adam256step
	}
	step(hi-lo, &s.Param[lo], &s.Grad[lo], &s.M[lo], &s.V[lo], first(s.VMax[min(lo, len(s.VMax)):]),
		s.Shrink, s.Decay, s.B1, s.C1, s.B2, s.C2, s.Step, s.Root, s.Eps)
}

// transposeSquares does the squares of 8×8 of a tile, and returns where they end.
func transposeSquares(d, s Dense, i0, i1, j0, j1 int) (i, j int) {
	squares := (j1 - j0) / 8
	if Active == generic || squares == 0 {
		return i0, j0
	}
	j = j0 + 8*squares
	for i = i0; i+8 <= i1; i += 8 {
		_, _ = d.Row(j - 1)[i+7], s.Row(i + 7)[j-1]
		transpose256squares(squares, &d.V[j0*d.LD+i], uintptr(d.LD)*4, &s.V[i*s.LD+j0], uintptr(s.LD)*4)
	}
	return i, j
}
