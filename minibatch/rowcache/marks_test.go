package rowcache

import (
	"math/rand/v2"
	"testing"
)

// marks are the set that a map is, at sizes around powers of 64.
func TestMarks(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	for _, size := range []int64{1, 63, 64, 65, 1024, 4095, 4096, 4097, 1 << 18, 1<<18 + 1} {
		m, in := newMarks(size), map[int64]bool{}
		for range 3000 {
			n := r.Int64N(size)
			if in[n] != m.has(n) {
				t.Fatalf("%d of %d is a member: %t", n, size, m.has(n))
			}
			if r.IntN(1+len(in)) < 20 {
				m.add(n)
				in[n] = true
			} else {
				for n = range in {
					break
				}
				m.remove(n)
				delete(in, n)
			}
			bound, want := []int64{size, r.Int64N(size + 1), n, n + 1}[r.IntN(4)], int64(-1)
			for x := range in {
				if x < bound {
					want = max(want, x)
				}
			}
			if got := m.below(bound); got != want {
				t.Fatalf("below %d of %d: %d, want %d", bound, size, got, want)
			}
		}
	}
}
