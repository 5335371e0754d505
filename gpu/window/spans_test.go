package window

import (
	"math/rand/v2"
	"testing"

	"capgnn/gpu"
)

// Spans are what marks of single bytes say, in order, and do not touch.
func TestSpans(t *testing.T) {
	const n = 24
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var s spans
		var marks [n]bool
		for range 6 {
			lo, hi := r.IntN(n), r.IntN(n+1)
			add := r.IntN(3) > 0
			if add {
				s = s.add(gpu.Bytes(lo), gpu.Bytes(hi))
			} else {
				s = s.cut(gpu.Bytes(lo), gpu.Bytes(max(lo, hi)))
			}
			for i := lo; i < hi; i++ {
				marks[i] = add
			}
		}
		lo, hi := r.IntN(n), r.IntN(n+1)
		within := s.within(gpu.Bytes(lo), gpu.Bytes(hi))
		for i := range n {
			if s.has(i) != marks[i] || within.has(i) != (marks[i] && lo <= i && i < hi) {
				t.Fatalf("%v, of which %d to %d are %v: byte %d is %t", s, lo, hi, within, i, marks[i])
			}
		}
		for k := 1; k < len(s); k++ {
			if s[k].lo <= s[k-1].hi {
				t.Fatalf("%v: not ascending, or they touch", s)
			}
		}
	}
}

func (s spans) has(i int) bool { return len(s.within(gpu.Bytes(i), gpu.Bytes(i+1))) > 0 }
