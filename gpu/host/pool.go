package host

import (
	"sync"
	"sync/atomic"
)

// pool runs loops on a device's threads. A pool belongs to one device and is used by one queue at a time.
//
// A pool of newPool keeps its workers parked between loops; a literal pool{threads: n} starts goroutines for each loop.
// Loops do not nest.
type pool struct {
	threads int

	wake chan int // worker numbers of the current loop; nil in a literal pool
	next atomic.Int64
	n    int
	f    func(worker, i int)
	wg   sync.WaitGroup

	mu    sync.Mutex
	panic any // the first panic of a worker in this loop
}

// newPool returns a pool whose workers live until stop. The caller of each is one of the threads.
func newPool(threads int) *pool {
	p := &pool{threads: threads, wake: make(chan int, threads)}
	for range threads - 1 {
		// Owned by the pool: ends when stop closes wake; each waits for its work.
		go func() {
			for w := range p.wake {
				p.work(w)
			}
		}()
	}
	return p
}

// stop ends the workers. No loop may be running.
func (p *pool) stop() {
	if p.wake != nil {
		close(p.wake)
	}
}

// each calls f(worker, i) exactly once for every i in [0, n), on up to p.threads goroutines; worker < p.threads and is
// never used by two goroutines at once. Which worker takes which i is not fixed: results must not depend on it.
// A panic of f ends its worker's share, and is thrown again from each when the other workers have finished.
func (p *pool) each(n int, f func(worker, i int)) {
	t := min(p.threads, n)
	if t <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	p.n, p.f, p.panic = n, f, nil
	p.next.Store(0)
	p.wg.Add(t)
	for w := 1; w < t; w++ {
		if p.wake != nil {
			p.wake <- w
		} else {
			go p.work(w) // owned by this call: it waits below
		}
	}
	p.work(0)
	p.wg.Wait()
	p.f = nil
	if p.panic != nil {
		panic(p.panic)
	}
}

// work takes indices of the current loop until there are none.
func (p *pool) work(w int) {
	defer p.wg.Done()
	defer func() {
		if v := recover(); v != nil {
			p.next.Store(int64(p.n))
			p.mu.Lock()
			if p.panic == nil {
				p.panic = located(v)
			}
			p.mu.Unlock()
		}
	}()
	n, f := int64(p.n), p.f
	for {
		i := p.next.Add(1) - 1
		if i >= n {
			return
		}
		f(w, int(i))
	}
}
