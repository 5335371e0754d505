package kernel

// AddBlocks adds the partial sums of count blocks to dst, block after block: dst[j] = (Σ_b part[b·stride + j]) + b0·dst[j].
// With b0 = 0, dst is not read.
func AddBlocks(dst, part []float32, count, stride int, b0 float32) {
	if count > 1 {
		sum := part[:len(dst)]
		for b := 1; b < count; b++ {
			Axpby(sum, 1, part[b*stride:b*stride+len(dst)], 1)
		}
	}
	for j := range dst {
		var s float32
		if count > 0 {
			s = part[j]
		}
		if b0 != 0 {
			s += b0 * dst[j]
		}
		dst[j] = s
	}
}
