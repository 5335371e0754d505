package sample

import (
	"math/bits"

	"capgnn/gpu"
)

// What draws have in the third word of a Philox counter, where dropout has the layer (docs/mathematics.md).
const (
	drawStream  = 0x5A000000 // or'ed with the hop
	orderStream = 0x5B000000
	layerStream = 0x5C000000 // or'ed with the hop
)

// words is the random words of one vertex at one hop of one step, in order.
type words struct {
	counter [4]uint32
	key     [2]uint32
	ready   []uint32 // the first ones, drawn before
	block   [4]uint32
	used    int
}

// below returns a number 0 to n-1, uniformly: the high half of word·n, unless the low half says that the word is one too many of its
// kind (Lemire).
func (w *words) below(n uint32) uint32 {
	for {
		high, low := bits.Mul32(w.next(), n)
		if low >= n || low >= -n%n {
			return high
		}
	}
}

func (w *words) next() uint32 {
	at := w.used
	w.used++
	if at < len(w.ready) {
		return w.ready[at]
	}
	if at%4 == 0 {
		w.counter[0] = uint32(at / 4)
		w.block = gpu.Philox(w.counter, w.key)
	}
	return w.block[at%4]
}
