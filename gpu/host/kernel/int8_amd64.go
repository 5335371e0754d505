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

// quantise is quantiseGo; scale is src's. What is left of the last set of counters goes through memory that holds a whole one.
func quantise(dst []byte, src []float32, scale float32, first uint32, d Draw) {
	set, pack := 32, int8pack256
	switch Active {
	case generic:
		quantiseGo(dst, src, scale, first, d)
		return
	case avx512:
		set, pack = 64, int8pack512
	}
	n := len(src) / set
	if n > 0 {
		_ = dst[n*set-1]
		pack(n, &dst[0], &src[0], scale, first, d.ID, d.Stream, d.Epoch, d.Key[0], d.Key[1])
	}
	if rest := src[n*set:]; len(rest) > 0 {
		var from [64]float32
		var to [64]byte
		copy(from[:], rest)
		pack(1, &to[0], &from[0], scale, first+uint32(n*set/8), d.ID, d.Stream, d.Epoch, d.Key[0], d.Key[1])
		copy(dst[n*set:len(src)], to[:])
	}
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
