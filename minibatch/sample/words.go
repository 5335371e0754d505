package sample

import (
	"math/bits"

	"capgnn/gpu"
)

// What draws have in the third word of a Philox counter, where dropout has layer and epoch (docs/mathematics.md).
const (
	drawStream  = 0x5A000000 // or'ed with the hop
	orderStream = 0x5B000000
)

// words is the random words of one vertex at one hop of one step.
type words struct {
	counter [4]uint32
	key     [2]uint32
	block   [4]uint32
	used    int // words of block; 4: the next one is drawn first
}

func wordsOf(key [2]uint32, step uint32, hop int, v int32) words {
	return words{counter: [4]uint32{0, uint32(v), drawStream | uint32(hop), step}, key: key, used: 4}
}

// below returns a number 0 to n-1, uniformly: the high half of word·n, unless the low half says that the word is one too many of its
// kind (Lemire).
func (w *words) below(n uint32) uint32 {
	for {
		if w.used == 4 {
			w.block = gpu.Philox(w.counter, w.key)
			w.counter[0]++
			w.used = 0
		}
		high, low := bits.Mul32(w.block[w.used&3], n)
		w.used++
		if low >= n || low >= -n%n {
			return high
		}
	}
}
