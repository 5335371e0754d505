package kernel

import "capgnn/gpu"

// DropoutKeep sets bit j mod 32 of dst[j/32] for 0 ≤ j < cols to whether element j of a row is kept: word j mod 4 of
// gpu.Philox({j/4, id, layer, epoch}, key) is at least threshold. Bits from cols on are 0. len(dst) ≥ ⌈cols/32⌉.
func DropoutKeep(dst []uint32, cols int, id, layer, epoch uint32, key [2]uint32, threshold uint32) {
	words := (cols + 31) / 32
	philoxKeep(dst[:words], id, layer, epoch, key, threshold)
	if cols%32 != 0 {
		dst[words-1] &= 1<<(cols%32) - 1
	}
}

// philoxKeepGo writes the keep bits of 32·len(dst) elements to dst.
func philoxKeepGo(dst []uint32, id, layer, epoch uint32, key [2]uint32, threshold uint32) {
	for i := range dst {
		var bits uint32
		for q := range 8 {
			words := gpu.Philox([4]uint32{uint32(i*8 + q), id, layer, epoch}, key)
			for l, w := range words {
				if w >= threshold {
					bits |= 1 << (4*q + l)
				}
			}
		}
		dst[i] = bits
	}
}

// DropColumn writes what dropout leaves of a column: dst[i] = src[i]·scale if word 0 of gpu.Philox({0, ids[i], layer, epoch}, key) is at least threshold,
// else 0. src and ids have at least len(dst) elements.
func DropColumn(dst, src []float32, ids []int32, layer, epoch uint32, key [2]uint32, threshold uint32, scale float32) {
	src, ids = src[:len(dst)], ids[:len(dst)]
	for i := range dst {
		x := src[i] * scale
		if gpu.PhiloxWord(uint32(ids[i]), layer, epoch, key) < threshold {
			x = 0
		}
		dst[i] = x
	}
}
