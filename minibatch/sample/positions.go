package sample

import "math/bits"

// fewWords is the size of the bit set that lies on the stack, in words of 64 positions.
const fewWords = 8

// choice chooses positions. It is a few slices that are used again.
type choice struct {
	at  []uint32 // what choose returns
	set []uint64 // a bit per position of a long row
}

// choose returns k of the positions 0 to n-1, 0 < k < n, ascending.
//
// Method: Floyd's. For j = n-m to n-1 a number of 0 to j is drawn and taken, or j itself where that number is taken already. Each set
// of m positions is equally likely. Where more than half are kept, the others are drawn.
// Why a bit set: positions come out sorted, so that a row is read in ascending order, at the cost of one bit per position; where
// few of many are drawn, insertion costs less.
func (c *choice) choose(w *words, n, k int) []uint32 {
	m, out := k, 2*k > n
	if out {
		m = n - k
	}
	if size := (n + 63) / 64; size <= fewWords {
		var set [fewWords]uint64
		floyd(w, set[:size], n, m)
		return c.list(set[:size], n, out)
	} else if out || m*m/4 > size {
		c.set = resized(c.set, size)
		clear(c.set)
		floyd(w, c.set, n, m)
		return c.list(c.set, n, out)
	}
	return c.insert(w, n, m)
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

// list returns the positions below n whose bits are set, or clear.
func (c *choice) list(set []uint64, n int, clear bool) []uint32 {
	at := c.at[:0]
	for i, b := range set {
		if clear {
			b = ^b
			if past := (i+1)*64 - n; past > 0 {
				b = b << past >> past
			}
		}
		for ; b != 0; b &= b - 1 {
			at = append(at, uint32(i*64+bits.TrailingZeros64(b)))
		}
	}
	c.at = at
	return at
}

// insert is floyd with a sorted list for the set.
func (c *choice) insert(w *words, n, m int) []uint32 {
	at := c.at[:0]
	for j := n - m; j < n; j++ {
		x := w.below(uint32(j + 1))
		i := len(at)
		for i > 0 && at[i-1] > x {
			i--
		}
		if i > 0 && at[i-1] == x {
			at = append(at, uint32(j))
			continue
		}
		at = append(at, 0)
		copy(at[i+1:], at[i:])
		at[i] = x
	}
	c.at = at
	return at
}
