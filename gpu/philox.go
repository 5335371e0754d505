package gpu

// Philox returns the four words of Philox4x32-10 for a counter and a key (Salmon et al., SC 2011, Random123).
// It is the only source of randomness of a run: weights and dropout are functions of (seed, counter), so they do not
// depend on partition, device or thread (docs/mathematics.md). Backends may compute it in vectors; the words are the same.
func Philox(c [4]uint32, k [2]uint32) [4]uint32 {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57
		w0, w1 = 0x9E3779B9, 0xBB67AE85
	)
	for range 10 {
		p0 := uint64(m0) * uint64(c[0])
		p1 := uint64(m1) * uint64(c[2])
		c = [4]uint32{
			uint32(p1>>32) ^ c[1] ^ k[0], uint32(p1),
			uint32(p0>>32) ^ c[3] ^ k[1], uint32(p0),
		}
		k[0] += w0
		k[1] += w1
	}
	return c
}

// SeedKey splits a seed into Philox key words: low, high 32 bits.
func SeedKey(seed uint64) [2]uint32 { return [2]uint32{uint32(seed), uint32(seed >> 32)} }

// DropoutThreshold returns ⌊p·2³²⌋: an element is kept if its random word is at least this.
func DropoutThreshold(p float64) uint32 { return uint32(p * (1 << 32)) }
