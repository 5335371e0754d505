package kernel

import (
	"math"

	"capgnn/hostmem"
)

// PackRow packs x into dst; words returns random words, as many as x has elements, in whole blocks.
func PackRow(dst, x []float32, words func() []uint32) {
	q := hostmem.Bytes(dst[1:])
	dst[0] = int8Scale(topBits(x))
	if dst[0] == 0 || dst[0] != dst[0] {
		clear(q)
		return
	}
	clear(q[len(x):])
	quantise(q, x, words(), dst[0])
}

// int8Scale returns the scale of a row whose largest absolute value has these bits.
func int8Scale(top uint32) float32 {
	const infinity, least = 0x7F800000, 1.0 / (1 << 126)
	if top >= infinity {
		return float32(math.NaN())
	}
	if s := math.Float32frombits(top) / 127; s >= least {
		return s
	}
	return 0
}

// topBitsGo returns the bits of the largest absolute value of src: above all numbers are those of infinity and NaN.
func topBitsGo(src []float32) uint32 {
	top := uint32(0)
	for _, v := range src {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	return top
}

// quantiseGo: dst[j] = ⌊src[j]/scale + u⌋ within ±127, u of words[j]. len(dst) ≥ len(src).
func quantiseGo(dst []byte, src []float32, words []uint32, scale float32) {
	dst, words = dst[:len(src)], words[:len(src)]
	for j, v := range src {
		u := float32(2*(words[j]>>16)+1) * (1.0 / (1 << 17))
		t := v/scale + u
		i := int32(t)
		if float32(i) > t {
			i--
		}
		dst[j] = byte(int8(max(-127, min(i, 127))))
	}
}

// spreadGo: dst[j] = scale·src[j].
func spreadGo(dst []float32, src []byte, scale float32) {
	src = src[:len(dst)]
	for j, b := range src {
		dst[j] = scale * float32(int8(b))
	}
}
