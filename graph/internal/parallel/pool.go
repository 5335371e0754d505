package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Pool is a number of goroutines that work on one stage after the other.
type Pool struct {
	ctx      context.Context
	threads  int
	progress func(stage string, done, total int)
}

// New returns a pool that works until ctx ends. threads 0 = GOMAXPROCS; progress is called after each block of a stage, by one
// goroutine at a time, unless it is nil.
func New(ctx context.Context, threads int, progress func(stage string, done, total int)) *Pool {
	if threads < 1 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Pool{ctx, threads, progress}
}

// Err says why the context ended, nil if it has not.
func (p *Pool) Err() error { return p.ctx.Err() }

// Each calls work for blocks 0 to n-1, each once, in any order, and returns when all are done or the context has ended.
func (p *Pool) Each(stage string, n int, work func(block int)) error {
	var next atomic.Int64
	var mu sync.Mutex
	done := 0
	loop := func() {
		for p.ctx.Err() == nil {
			block := int(next.Add(1)) - 1
			if block >= n {
				return
			}
			work(block)
			if p.progress != nil {
				mu.Lock()
				done++
				p.progress(stage, done, n)
				mu.Unlock()
			}
		}
	}
	var wg sync.WaitGroup
	for range min(p.threads, n) {
		wg.Go(loop) // owned by this call, which waits for it
	}
	wg.Wait()
	return p.ctx.Err()
}

// Blocks returns the number of blocks of the given size that n things make.
func Blocks(n, size int) int { return (n + size - 1) / size }
