//go:build !noasm

package kernel

// philoxKeep writes the keep bits of 32·len(dst) elements to dst.
func philoxKeep(dst []uint32, id, layer, epoch uint32, key [2]uint32, threshold uint32) {
	switch {
	case len(dst) == 0:
	case Active == avx512:
		// A block is two words: an odd last one goes through a block of its own.
		blocks := len(dst) / 2
		if blocks > 0 {
			philox512keep(&dst[0], blocks, 0, id, layer, epoch, key[0], key[1], threshold)
		}
		if len(dst)%2 != 0 {
			var last [2]uint32
			philox512keep(&last[0], 1, uint32(blocks)*16, id, layer, epoch, key[0], key[1], threshold)
			dst[len(dst)-1] = last[0]
		}
	case Active == avx2:
		philox256keep(&dst[0], len(dst), 0, id, layer, epoch, key[0], key[1], threshold)
	default:
		philoxKeepGo(dst, id, layer, epoch, key, threshold)
	}
}

// edgeBits is edgeBitsGo.
func edgeBits(dst []uint32, n int, u, v []uint32, stream, epoch uint32, key [2]uint32, threshold uint32) {
	kernel, lanes := philox512edges, 16
	switch Active {
	case generic:
		edgeBitsGo(dst, n, u, v, stream, epoch, key, threshold)
		return
	case avx2:
		kernel, lanes = philox256edges, 8
	}
	kernel(&dst[0], (n+lanes-1)/lanes, &u[0], &v[0], stream, epoch, key[0], key[1], threshold)
}
