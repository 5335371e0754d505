package kernel

import "capgnn/gpu"

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

// philoxDrawGo is PhiloxWords in Go.
func philoxDrawGo(dst []uint32, id, stream, epoch uint32, key [2]uint32) {
	for i := 0; i+4 <= len(dst); i += 4 {
		words := gpu.Philox([4]uint32{uint32(i / 4), id, stream, epoch}, key)
		copy(dst[i:], words[:])
	}
}
