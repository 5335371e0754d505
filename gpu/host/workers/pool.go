package workers

import (
	"sync"
	"sync/atomic"
)

// Pool runs loops on a device's threads. A pool belongs to one device and is used by one queue at a time.
//
// A pool of NewPool keeps its workers parked between loops; a literal Pool{Threads: n} starts goroutines for each loop.
// Loops do not nest.
type Pool struct {
	Threads int

	wake  chan struct{} // a token calls one parked worker; nil in a literal Pool
	idle  chan struct{} // the last worker to leave a closed loop tells its caller
	state atomic.Int64  // workers inside the loop, plus loopClosed

	// The current loop; workers read it between enter and leave only.
	next  atomic.Int64
	n     int
	f     func(worker, i int)
	mu    sync.Mutex
	panic *Panic // the first one of this loop
}

// loopClosed is added to Pool.state when a loop has no index left to give: who has not entered yet stays out, so the
// caller never waits for a worker that the system has not woken in time.
const loopClosed = 1 << 32

// NewPool returns a pool whose workers live until Stop. The caller of Each is one of the threads, number 0.
func NewPool(threads int) *Pool {
	p := &Pool{Threads: threads, wake: make(chan struct{}, threads), idle: make(chan struct{}, 1)}
	p.state.Store(loopClosed)
	for w := 1; w < threads; w++ {
		// Owned by the pool: ends when Stop closes wake; Each waits for those that have entered.
		go func() {
			for range p.wake {
				if p.enter() {
					p.share(w)
					p.leave()
				}
			}
		}()
	}
	return p
}

// Stop ends the workers. No loop may be running.
func (p *Pool) Stop() {
	if p.wake != nil {
		close(p.wake)
	}
}

// Each calls f(worker, i) exactly once for every i in [0, n), on up to p.threads goroutines; worker < p.threads and is
// never used by two goroutines at once. Which worker takes which i is not fixed: results must not depend on it.
// A panic of f ends the loop early, and is thrown again from Each when the other workers have finished.
func (p *Pool) Each(n int, f func(worker, i int)) {
	t := min(p.Threads, n)
	if t <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	p.n, p.f, p.panic = n, f, nil
	p.next.Store(0)
	if p.wake == nil {
		p.once(t)
	} else {
		p.state.Store(0)
		p.call(t - 1)
		p.share(0)
		if p.state.Add(loopClosed) != loopClosed {
			<-p.idle
		}
	}
	p.f = nil
	if p.panic != nil {
		panic(p.panic)
	}
}

// call wakes workers. Tokens that are left of earlier loops do as well as new ones.
func (p *Pool) call(workers int) {
	for range workers {
		select {
		case p.wake <- struct{}{}:
		default:
			return
		}
	}
}

// once runs the loop on goroutines of its own, which end with it.
func (p *Pool) once(threads int) {
	var wg sync.WaitGroup
	for w := 1; w < threads; w++ {
		wg.Go(func() { p.share(w) })
	}
	p.share(0)
	wg.Wait()
}

// enter counts a worker into the loop, unless that is closed.
func (p *Pool) enter() bool {
	for {
		s := p.state.Load()
		if s >= loopClosed {
			return false
		}
		if p.state.CompareAndSwap(s, s+1) {
			return true
		}
	}
}

// leave counts a worker out of the loop.
func (p *Pool) leave() {
	if p.state.Add(-1) == loopClosed {
		p.idle <- struct{}{}
	}
}

// share takes indices of the current loop until there are none.
func (p *Pool) share(w int) {
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
