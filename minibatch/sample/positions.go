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
	switch out := m < len(into); {
	case n <= 64:
		set := c.narrow(w, n, m)
		if out {
			set = ^set << (64 - n) >> (64 - n)
		}
		for i := range into {
			into[i] = first + int64(bits.TrailingZeros64(set))
			set &= set - 1
		}
	case n <= 64*len(c.wide):
		c.spread(into, first, w, n, m)
	case out || m*m/4 > n/64:
		c.set = resized(c.set, (n+63)/64)
		clear(c.set)
		floyd(w, c.set, n, m)
		write(into, first, c.set, out)
	default:
		c.insert(w, n, m)
		for i, p := range c.list {
			into[i] = first + int64(p)
		}
	}
}

// narrow returns m bits of the first n, n ≤ 64.
func (c *choice) narrow(w *words, n, m int) uint64 {
	var set uint64
	if m <= len(w.ready) {
		ready := w.ready[:m]
		j := uint64(n - m)
		for _, word := range ready {
			product := uint64(word) * (j + 1)
			if uint32(product) <= uint32(j) { // may be rejected
				return c.careful(w, n, m)
			}
			bit, last := uint64(1)<<(product>>32&63), uint64(1)<<(j&63)
			if set&bit != 0 {
				bit = last
			}
			set |= bit
			j++
		}
		return set
	}
	return c.careful(w, n, m)
}

func (c *choice) careful(w *words, n, m int) uint64 {
	var set [1]uint64
	floyd(w, set[:], n, m)
	return set[0]
}

// spread is choose for rows of up to 4096: it looks only at words of the set that it has written.
func (c *choice) spread(into []int64, first int64, w *words, n, m int) {
	set := c.wide[:(n+63)/64]
	floyd(w, set, n, m)
	write(into, first, set, m < len(into))
	clear(set)
}

// floyd sets m bits of the first n.
func floyd(w *words, set []uint64, n, m int) {
	for j := n - m; j < n; j++ {
		x := w.below(uint32(j + 1))
		if set[x/64]>>(x%64)&1 != 0 {
			x = uint32(j)
		}
		set[x/64] |= 1 << (x % 64)
	}
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
