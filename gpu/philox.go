package gpu

// Philox returns the four words of Philox4x32-10 for a counter and a key (Salmon et al., SC 2011, Random123).
// It is the only source of randomness of a run: weights and dropout are functions of (seed, counter), so they do not
// depend on partition, device or thread (docs/mathematics.md). Backends may compute it in vectors; the words are the same.
func Philox(c [4]uint32, k [2]uint32) [4]uint32 {
	var w [4]uint32
	w[0], w[1], w[2], w[3] = philox(c[0], c[1], c[2], c[3], k[0], k[1])
	return w
}

// PhiloxWords writes the words of counters {0, id, stream, step}, {1, id, stream, step} and so on to dst, in order; len(dst) is a
// multiple of 4.
func PhiloxWords(dst []uint32, id, stream, step uint32, k [2]uint32) {
	for i := uint32(0); len(dst) >= 4; i++ {
		dst[0], dst[1], dst[2], dst[3] = philox(i, id, stream, step, k[0], k[1])
		dst = dst[4:]
	}
}

// PhiloxWord returns word 0 of counter {0, id, stream, step}.
func PhiloxWord(id, stream, step uint32, k [2]uint32) uint32 {
	w, _, _, _ := philox(0, id, stream, step, k[0], k[1])
	return w
}

// philox has the words in variables of their own: an array would be kept in memory between rounds.
func philox(c0, c1, c2, c3, k0, k1 uint32) (uint32, uint32, uint32, uint32) {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85
	)
	for range 10 {
		p0 := uint64(m0) * uint64(c0)
		p1 := uint64(m1) * uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += w0
		k1 += w1
	}
	return c0, c1, c2, c3
}

// SeedKey splits a seed into Philox key words: low, high 32 bits.
func SeedKey(seed uint64) [2]uint32 { return [2]uint32{uint32(seed), uint32(seed >> 32)} }

// DropoutThreshold returns ⌊p·2³²⌋: an element is kept if its random word is at least this.
func DropoutThreshold(p float64) uint32 { return uint32(p * (1 << 32)) }
