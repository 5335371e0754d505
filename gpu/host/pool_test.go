package host

import (
	"sync/atomic"
	"testing"
)

func TestPoolEach(t *testing.T) {
	for _, p := range []*pool{{threads: 1}, {threads: 3}, newPool(1), newPool(4)} {
		for _, n := range []int{0, 1, 2, 3, 100} {
			seen, busy := make([]atomic.Int32, n), make([]atomic.Int32, p.threads)
			p.each(n, func(w, i int) {
				if busy[w].Add(1) != 1 {
					t.Errorf("worker %d runs twice at once", w)
				}
				seen[i].Add(1)
				busy[w].Add(-1)
			})
			for i := range seen {
				if got := seen[i].Load(); got != 1 {
					t.Errorf("%d threads: f(%d) was called %d times", p.threads, i, got)
				}
			}
		}
		p.stop()
	}
}

// TestPoolLoops runs many short loops in a row: workers that wake late meet a closed loop or the next one.
func TestPoolLoops(t *testing.T) {
	p := newPool(4)
	defer p.stop()
	for loop := range 20000 {
		n := loop%7 + 2
		var plain [8]int // written without synchronisation of its own: -race sees a worker that outlives its loop
		p.each(n, func(_, i int) { plain[i] = loop + 1 })
		for i := range n {
			if plain[i] != loop+1 {
				t.Fatalf("loop %d: index %d was left out", loop, i)
			}
		}
	}
}
