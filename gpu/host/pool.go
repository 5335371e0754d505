package host

import (
	"sync"
	"sync/atomic"
)

// pool runs loops on a device's threads. A pool belongs to one device and is used by one queue at a time.
type pool struct {
	threads int
}

// each calls f(worker, i) exactly once for every i in [0, n), on up to p.threads goroutines; worker < p.threads and is
// never used by two goroutines at once. Which worker takes which i is not fixed: results must not depend on it.
func (p *pool) each(n int, f func(worker, i int)) {
	t := min(p.threads, n)
	if t <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range t {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(w, i)
			}
		})
	}
	wg.Wait()
}
