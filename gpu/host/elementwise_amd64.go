//go:build !noasm

package host

// short is the length below which a Go loop beats a masked vector, whose stores are slow to be read again.
const short = 8

// axpbyRow is axpby of one element or more.
func axpbyRow(dst []float32, a float32, src []float32, b float32) {
	n := len(dst)
	switch {
	case active == generic || n < short:
		axpbyGo(dst, a, src, b)
	case active == avx512 && b == 0:
		axpby512scale(n, &dst[0], a, &src[0], b)
	case active == avx512 && b == 1:
		axpby512add(n, &dst[0], a, &src[0], b)
	case active == avx512:
		axpby512mix(n, &dst[0], a, &src[0], b)
	case b == 0:
		axpby256scale(n, &dst[0], a, &src[0], b)
	case b == 1:
		axpby256add(n, &dst[0], a, &src[0], b)
	default:
		axpby256mix(n, &dst[0], a, &src[0], b)
	}
}

// dotWideRow is dotWide of one element or more.
func dotWideRow(a, b []float32) float64 {
	switch {
	case active == generic || len(a) < short:
		return dotWideGo(a, b)
	case active == avx512:
		return dot512wide(len(a), &a[0], &b[0])
	}
	return dot256wide(len(a), &a[0], &b[0])
}

// run updates elements lo to hi, of which there is at least one.
func (s *adam) run(lo, hi int) {
	step := adam512step
	switch active {
	case generic:
		s.runGo(lo, hi)
		return
	case avx2:
		step = adam256step
	}
	step(hi-lo, &s.param[lo], &s.grad[lo], &s.m[lo], &s.v[lo], first(s.vMax[min(lo, len(s.vMax)):]),
		s.shrink, s.decay, s.b1, s.c1, s.b2, s.c2, s.step, s.root, s.eps)
}

// transposeSquares does the squares of 8×8 of a tile, and returns where they end.
func transposeSquares(d, s dense, i0, i1, j0, j1 int) (i, j int) {
	squares := (j1 - j0) / 8
	if active == generic || squares == 0 {
		return i0, j0
	}
	j = j0 + 8*squares
	for i = i0; i+8 <= i1; i += 8 {
		_, _ = d.row(j - 1)[i+7], s.row(i + 7)[j-1]
		transpose256squares(squares, &d.v[j0*d.ld+i], uintptr(d.ld)*4, &s.v[i*s.ld+j0], uintptr(s.ld)*4)
	}
	return i, j
}
