package workers

import (
	"sync/atomic"
	"testing"
)

func TestPoolEach(t *testing.T) {
	for _, p := range []*Pool{{Threads: 1}, {Threads: 3}, NewPool(1), NewPool(4)} {
		for _, n := range []int{0, 1, 2, 3, 100} {
			seen, busy := make([]atomic.Int32, n), make([]atomic.Int32, p.Threads)
			p.Each(n, func(w, i int) {
				if busy[w].Add(1) != 1 {
					t.Errorf("worker %d runs twice at once", w)
				}
				seen[i].Add(1)
				busy[w].Add(-1)
			})
			for i := range seen {
				if got := seen[i].Load(); got != 1 {
					t.Errorf("%d threads: f(%d) was called %d times", p.Threads, i, got)
				}
			}
		}
		p.Stop()
	}
}

// TestPoolLoops runs many short loops in a row: workers that wake late meet a closed loop or the next one.
func TestPoolLoops(t *testing.T) {
	p := NewPool(4)
	defer p.Stop()
	for loop := range 20000 {
		n := loop%7 + 2
		var plain [8]int // written without synchronisation of its own: -race sees a worker that outlives its loop
		p.Each(n, func(_, i int) { plain[i] = loop + 1 })
		for i := range n {
			if plain[i] != loop+1 {
				t.Fatalf("loop %d: index %d was left out", loop, i)
			}
		}
	}
}
