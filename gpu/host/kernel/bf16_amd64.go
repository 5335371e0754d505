//go:build !noasm

package kernel

// toBF16 rounds to bf16, to nearest even. NaN stays NaN, made quiet.
func toBF16(dst []uint16, src []float32) {
	n := len(src)
	dst = dst[:n]
	switch {
	case Active == generic || n < short:
	case Active == avx512:
		bf512narrow(n, &dst[0], &src[0])
		return
	default:
		n &^= 7 // masks of 16-bit elements are AVX-512's
		bf256narrow(n, &dst[0], &src[0])
		dst, src = dst[n:], src[n:]
	}
	toBF16Go(dst, src)
}

// fromBF16 widens bf16 to float32, exactly.
func fromBF16(dst []float32, src []uint16) {
	n := len(src)
	dst = dst[:n]
	switch {
	case Active == generic || n < short:
	case Active == avx512:
		bf512widen(n, &dst[0], &src[0])
		return
	default:
		n &^= 7
		bf256widen(n, &dst[0], &src[0])
		dst, src = dst[n:], src[n:]
	}
	fromBF16Go(dst, src)
}
