//go:build !noasm

package kernel

// topBits returns the bits of the largest absolute value of src, 0 if it is empty.
func topBits(src []float32) uint32 {
	switch {
	case Active == generic || len(src) < short:
		return topBitsGo(src)
	case Active == avx512:
		return int8top512(len(src), &src[0])
	}
	return int8top256(len(src), &src[0])
}

// quantise: dst[j] = ⌊src[j]/scale + u⌋ within ±127, u of words[j], of which there are whole blocks.
func quantise(dst []byte, src []float32, words []uint32, scale float32) {
	n := len(src)
	switch {
	case Active == generic || n < short:
	case Active == avx512:
		_, _ = dst[n-1], words[RoundUp(n, 16)-1]
		int8quantise512(n, &dst[0], &src[0], &words[0], scale)
		return
	default:
		n &^= 7 // there are no masks of bytes
		_, _ = dst[n-1], words[n-1]
		int8quantise256(n, &dst[0], &src[0], &words[0], scale)
		dst, src, words = dst[n:], src[n:], words[n:]
	}
	quantiseGo(dst, src, words, scale)
}

// Spread: dst[j] = scale·src[j].
func Spread(dst []float32, src []byte, scale float32) {
	n := len(dst)
	src = src[:n]
	switch {
	case Active == generic || n < short:
	case Active == avx512:
		int8spread512(n, &dst[0], &src[0], scale)
		return
	default:
		n &^= 7
		int8spread256(n, &dst[0], &src[0], scale)
		dst, src = dst[n:], src[n:]
	}
	spreadGo(dst, src, scale)
}
