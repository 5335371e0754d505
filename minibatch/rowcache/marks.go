package rowcache

import "math/bits"

// marks is a set of numbers that finds its largest member below a bound in as many steps as it has levels. A bit of a level says whether a word
// of the level below has any.
type marks [][]uint64

// newMarks returns an empty set of numbers below size.
func newMarks(size int64) (m marks) {
	for {
		size = (size + 63) / 64
		m = append(m, make([]uint64, size))
		if size == 1 {
			return m
		}
	}
}

func (m marks) has(n int64) bool { return m[0][n/64]>>(n%64)&1 != 0 }

func (m marks) add(n int64) {
	for _, words := range m {
		w := &words[n/64]
		was := *w
		*w = was | 1<<(n%64)
		if was != 0 {
			return
		}
		n /= 64
	}
}

func (m marks) remove(n int64) {
	for _, words := range m {
		w := &words[n/64]
		if *w &^= 1 << (n % 64); *w != 0 {
			return
		}
		n /= 64
	}
}

// below returns the largest member below n, which may be the size; -1: there is none.
func (m marks) below(n int64) int64 {
	for level := 0; n > 0; level++ {
		n--
		if w := m[level][n/64] & (2<<(n%64) - 1); w != 0 {
			n = n&^63 + int64(bits.Len64(w)) - 1
			for level--; level >= 0; level-- {
				n = n*64 + int64(bits.Len64(m[level][n])) - 1
			}
			return n
		}
		n /= 64
	}
	return -1
}
