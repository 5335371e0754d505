package kernel

import (
	"math"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// Draw names the random words of a row: those of gpu.Philox({counter, ID, Stream, Epoch}, Key).
type Draw struct {
	ID, Stream, Epoch uint32
	Key               [2]uint32
}

// PackRow packs x into dst, see gpu.PackArgs.
func PackRow(dst, x []float32, d Draw) {
	q := hostmem.Bytes(dst[1:])
	dst[0] = int8Scale(topBits(x))
	if dst[0] == 0 || dst[0] != dst[0] {
		clear(q)
		return
	}
	clear(q[len(x):])
	quantise(q, x, dst[0], d)
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

// quantiseGo: dst[j] = ⌊src[j]/scale + u[j]⌋ within ±127. Word i of counter 4g + c is for elements 32g + 4c + i, its low half, and 16
// further on, its high half.
func quantiseGo(dst []byte, src []float32, scale float32, d Draw) {
	for g := 0; g < len(src); g += 32 {
		for c := 0; c < 16 && g+c < len(src); c += 4 {
			words := gpu.Philox([4]uint32{uint32(g/8 + c/4), d.ID, d.Stream, d.Epoch}, d.Key)
			for i, w := range words {
				if j := g + c + i; j < len(src) {
					dst[j] = roundedGo(src[j], scale, w&0xFFFF)
				}
				if j := g + c + i + 16; j < len(src) {
					dst[j] = roundedGo(src[j], scale, w>>16)
				}
			}
		}
	}
}

// roundedGo returns ⌊v/scale + u⌋ within ±127, u = (2·draw + 1)·2⁻¹⁷.
func roundedGo(v, scale float32, draw uint32) byte {
	t := v/scale + float32(2*draw+1)*(1.0/(1<<17))
	i := int32(t)
	if float32(i) > t {
		i--
	}
	return byte(int8(max(-127, min(i, 127))))
}

// spreadGo: dst[j] = scale·src[j].
func spreadGo(dst []float32, src []byte, scale float32) {
	src = src[:len(dst)]
	for j, b := range src {
		dst[j] = scale * float32(int8(b))
	}
}
