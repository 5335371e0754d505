package multilevel

import (
	"context"
	"sync"
	"sync/atomic"
)

// crew does the blocks of a pass on several goroutines.
type crew struct {
	ctx     context.Context
	threads int
}

// each calls work(worker, lo, hi) for the blocks of the given size that make up [0, n), each once, in any order, and returns
// when all are done. Calls with equal worker, in [0, threads), do not overlap. What a block computes must not depend on the
// worker. When the context ends, blocks are passed over; callers ask c.err afterwards.
func (c *crew) each(n, size int, work func(worker, lo, hi int)) {
	count := (n + size - 1) / size
	if count <= 1 || c.threads == 1 {
		for lo := 0; lo < n && c.ctx.Err() == nil; lo += size {
			work(0, lo, min(n, lo+size))
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	run := func(worker int) {
		for c.ctx.Err() == nil {
			lo := int(next.Add(1)-1) * size
			if lo >= n {
				return
			}
			work(worker, lo, min(n, lo+size))
		}
	}
	for worker := 1; worker < min(c.threads, count); worker++ {
		// Owned by this call, which waits for it.
		wg.Go(func() { run(worker) })
	}
	run(0)
	wg.Wait()
}

func (c *crew) err() error { return c.ctx.Err() }

// alone returns a crew of this goroutine only.
func (c *crew) alone() *crew { return &crew{c.ctx, 1} }

// mix returns a hash of x in which every bit depends on all of x (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// random is a stream of numbers (SplitMix64).
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	x := r.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below returns a number in [0, n).
func (r *random) below(n int) int { return int((r.next() >> 32) * uint64(n) >> 32) }

// shuffle puts xs into random order.
func (r *random) shuffle(xs []int32) {
	for i := len(xs) - 1; i > 0; i-- {
		j := r.below(i + 1)
		xs[i], xs[j] = xs[j], xs[i]
	}
}
