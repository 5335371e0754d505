package graph

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// rowBlock is the number of rows or vertices that one goroutine works on at once.
const rowBlock = 1 << 12

// EachBlock calls work(lo, hi) for the blocks of the given size that make up [0, n), each once, in any order, on up to
// GOMAXPROCS goroutines, and returns when all are done. Blocks begin at multiples of size, whatever the number of threads,
// so what a block computes does not depend on it.
func EachBlock(n, size int, work func(lo, hi int)) {
	count := (n + size - 1) / size
	if count <= 1 {
		if n > 0 {
			work(0, n)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), count) {
		// Owned by this call, which waits for it.
		wg.Go(func() {
			for {
				lo := int(next.Add(1)-1) * size
				if lo >= n {
					return
				}
				work(lo, min(n, lo+size))
			}
		})
	}
	wg.Wait()
}

// firstError calls check for blocks as EachBlock does and returns the error of the first block that has one. Where check
// stops at the first fault of a block, that is the first fault of all.
func firstError(n, size int, check func(lo, hi int) error) error {
	var mu sync.Mutex
	var first error
	at := n
	EachBlock(n, size, func(lo, hi int) {
		if err := check(lo, hi); err != nil {
			mu.Lock()
			defer mu.Unlock()
			if lo < at {
				first, at = err, lo
			}
		}
	})
	return first
}

// FirstIndex returns the lowest index of [0, n) that find returns for a block, -1 if it returns -1 for all. find is called as
// by EachBlock.
func FirstIndex(n, size int, find func(lo, hi int) int) int {
	var first atomic.Int64
	first.Store(int64(n))
	EachBlock(n, size, func(lo, hi int) {
		if int64(lo) > first.Load() {
			return
		}
		i := find(lo, hi)
		for old := first.Load(); i >= 0 && int64(i) < old && !first.CompareAndSwap(old, int64(i)); {
			old = first.Load()
		}
	})
	if i := int(first.Load()); i < n {
		return i
	}
	return -1
}

// anyBlock reports whether test holds for some block; the others may be passed over once it does.
func anyBlock(n, size int, test func(lo, hi int) bool) bool {
	var found atomic.Bool
	EachBlock(n, size, func(lo, hi int) {
		if !found.Load() && test(lo, hi) {
			found.Store(true)
		}
	})
	return found.Load()
}

// rangeSize returns the length of one range per processor of [0, n), for passes in which each goroutine reads the whole graph.
func rangeSize(n int) int { return max(1, (n+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0)) }

// accumulate turns counts of n things, standing at 1 to n of p, into where each begins: p[v+1] += p[v].
func accumulate(p []int64) {
	for v := 1; v < len(p); v++ {
		p[v] += p[v-1]
	}
}
