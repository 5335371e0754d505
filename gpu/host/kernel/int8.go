package kernel

import (
	"encoding/binary"
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
func PackRow(dst, x []float32, bits int, d Draw) {
	q := hostmem.Bytes(dst[1:])
	if bits == 2 {
		packLevels(dst, q, x, d)
		return
	}
	dst[0] = int8Scale(topBits(x))
	if dst[0] == 0 || dst[0] != dst[0] {
		clear(q)
		return
	}
	clear(q[len(x):])
	quantise(q, x, dst[0], 0, d)
}

// packLevels packs x in 2 bits: what is above the least element is rounded as int8 is, 64 elements at a time.
func packLevels(dst []float32, q []byte, x []float32, d Draw) {
	low, scale := levelsOf(x)
	dst[0] = math.Float32frombits(math.Float32bits(scale) | math.Float32bits(low)>>16)
	if !(scale > 0) {
		clear(q)
		return
	}
	var above [64]float32
	var levels [64]byte
	for j := 0; j < len(x); j += 64 {
		part := x[j:min(j+64, len(x))]
		for i, v := range part {
			above[i] = v - low
		}
		quantise(levels[:len(part)], above[:len(part)], scale, uint32(j/8), d)
		clear(levels[len(part):])
		fold(q[j/4:], &levels)
	}
}

// fold puts 64 levels into a packed row, as far as it goes.
func fold(q []byte, levels *[64]byte) {
	for i := 0; i < 64 && i/4 < len(q); i += 8 {
		w := binary.LittleEndian.Uint64(levels[i:])
		w = (w | w>>6) & 0x000F000F000F000F
		w = (w | w>>12) & 0x000000FF000000FF
		binary.LittleEndian.PutUint16(q[i/4:], uint16(w|w>>24))
	}
}

// unfold reads 64 levels of a packed row, as far as it goes.
func unfold(levels *[64]byte, q []byte) {
	for i := 0; i < 64 && i/4 < len(q); i += 8 {
		w := uint64(binary.LittleEndian.Uint16(q[i/4:]))
		w = (w | w<<24) & 0x000000FF000000FF
		w = (w | w<<12) & 0x000F000F000F000F
		w = (w | w<<6) & 0x0303030303030303
		binary.LittleEndian.PutUint64(levels[i:], w)
	}
}

// levelsOf returns the offset of a row and the distance of its four levels: bf16s.
func levelsOf(x []float32) (low, scale float32) {
	const infinity, least, half = 0x7F800000, 1.0 / (1 << 126), 0xFFFF
	number := func(key int32) float32 { return math.Float32frombits(uint32(key ^ key>>31&math.MaxInt32)) }
	if len(x) == 0 {
		return 0, 0
	}
	first, last := int32(math.MaxInt32), int32(math.MinInt32) // as integers that have the order of the numbers, NaN outermost
	for _, v := range x {
		key := int32(math.Float32bits(v))
		key ^= key >> 31 & math.MaxInt32
		first, last = min(first, key), max(last, key)
	}
	low = number(first)
	if b := math.Float32bits(low); low < 0 {
		low = math.Float32frombits((b + half) &^ half)
	} else {
		low = math.Float32frombits(b &^ (1<<31 | half)) // +0 of -0
	}
	width := number(last) - low
	switch scale = width / 3; {
	case last >= infinity || first <= ^infinity || width > math.MaxFloat32:
		return 0, float32(math.NaN())
	case scale < least:
		return low, 0
	}
	return low, math.Float32frombits((math.Float32bits(scale) + half) &^ half)
}

// UnpackRow makes numbers of a packed row.
func UnpackRow(dst, row []float32, bits int) {
	q := hostmem.Bytes(row[1:])
	if bits == 8 {
		Spread(dst, q, row[0])
		return
	}
	head := math.Float32bits(row[0])
	low, scale := math.Float32frombits(head<<16), math.Float32frombits(head&^0xFFFF)
	var levels [64]byte
	for j := 0; j < len(dst); j += 64 {
		part := dst[j:min(j+64, len(dst))]
		unfold(&levels, q[j/4:])
		Spread(part, levels[:len(part)], scale)
		for i := range part {
			part[i] += low
		}
	}
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
// further on, its high half; first is the counter of src[0].
func quantiseGo(dst []byte, src []float32, scale float32, first uint32, d Draw) {
	for g := 0; g < len(src); g += 32 {
		for c := 0; c < 16 && g+c < len(src); c += 4 {
			words := gpu.Philox([4]uint32{first + uint32(g/8+c/4), d.ID, d.Stream, d.Epoch}, d.Key)
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
