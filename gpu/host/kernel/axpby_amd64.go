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
