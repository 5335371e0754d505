package sample

import (
	"math/bits"
	"slices"
)

// choice chooses positions by Floyd's method: for j = n-m to n-1 a number of 0 to j is drawn and taken, or j itself where that number is
// taken already. Each set of m of n positions is equally likely. Where more than half are kept, those left out are chosen.
//
// Why a bit set: positions come out sorted, so that a row is read in ascending order. What is taken is one word where n ≤ 64, up to 64
// words where n ≤ 4096. Of longer rows few positions are inserted into a sorted list, many go to a bit set of the row's size.
type choice struct {
	wide [64]uint64 // a bit per position of a row of up to 4096; all 0 between two rows
	set  []uint64   // of a longer row
	list []uint32
}

// drawn returns how many words the choice of k of n positions takes if none is rejected.
func drawn(n, k int) int { return min(k, n-k) }

// choose writes to into, ascending, first + each of len(into) of the positions 0 to n-1; fewer than n are chosen.
func (c *choice) choose(into []int64, first int64, w *words, n int) {
	m := drawn(n, len(into))
	out := m < len(into)
	switch {
	case n <= 64:
		set := narrow(w, n, m)
		if out {
			set = ^set << (64 - n) >> (64 - n)
		}
		for i := range into {
			into[i] = first + int64(bits.TrailingZeros64(set))
			set &= set - 1
		}
	case n <= 64*len(c.wide):
		set := c.wide[:(n+63)/64]
		if !spread(set, w, n, m) {
			clear(set)
			floyd(set, w, n, m)
		}
		write(into, first, set, out)
		clear(set)
	case out || m*m/4 > n/64:
		c.set = resized(c.set, (n+63)/64)
		clear(c.set)
		floyd(c.set, w, n, m)
		write(into, first, c.set, out)
	default:
		c.insert(w, n, m)
		for i, p := range c.list {
			into[i] = first + int64(p)
		}
	}
}

// floyd sets m bits of the first n.
func floyd(set []uint64, w *words, n, m int) {
	for j := n - m; j < n; j++ {
		x := w.below(uint32(j + 1))
		if set[x/64]>>(x%64)&1 != 0 {
			x = uint32(j)
		}
		set[x/64] |= 1 << (x % 64)
	}
}

// narrow is floyd for n ≤ 64, with the set in a register, and without a branch that depends on the words.
func narrow(w *words, n, m int) uint64 {
	if m <= len(w.ready) {
		set, j := uint64(0), uint64(n-m)
		for _, word := range w.ready[:m] {
			product := uint64(word) * (j + 1)
			if uint32(product) <= uint32(j) { // this word may be one to reject
				break
			}
			bit, last := uint64(1)<<(product>>32&63), uint64(1)<<(j&63)
			if set&bit != 0 {
				bit = last
			}
			set |= bit
			j++
		}
		if j == uint64(n) {
			return set
		}
	}
	var set [1]uint64
	floyd(set[:], w, n, m)
	return set[0]
}

// spread is floyd for words that are ready, without a branch that depends on them. It gives up, and reports that, where one may have to
// be rejected.
func spread(set []uint64, w *words, n, m int) bool {
	if m > len(w.ready) {
		return false
	}
	j := uint64(n - m)
	for _, word := range w.ready[:m] {
		product := uint64(word) * (j + 1)
		if uint32(product) <= uint32(j) {
			return false
		}
		x := product >> 32
		if set[x/64]>>(x%64)&1 != 0 {
			x = j
		}
		set[x/64] |= 1 << (x % 64)
		j++
	}
	return true
}

// write writes first + the positions whose bits are set, or clear, until into is full.
func write(into []int64, first int64, set []uint64, clear bool) {
	n := 0
	for i, b := range set {
		if clear {
			b = ^b
		}
		for ; b != 0 && n < len(into); b &= b - 1 {
			into[n] = first + int64(i*64+bits.TrailingZeros64(b))
			n++
		}
	}
}

// insert is floyd with a sorted list for the set.
func (c *choice) insert(w *words, n, m int) {
	c.list = c.list[:0]
	for j := n - m; j < n; j++ {
		x := w.below(uint32(j + 1))
		at, taken := slices.BinarySearch(c.list, x)
		if taken {
			x, at = uint32(j), len(c.list)
		}
		c.list = slices.Insert(c.list, at, x)
	}
}
