package meet

import (
	"sync"
	"sync/atomic"
	"time"

	"capgnn/gpu"
)

// Watch is what a hub notes of its parts' waits for parts of other processes. It is safe for use by several goroutines.
type Watch struct {
	compute []gpu.Queue // by part, from the first one of this process on
	first   int

	mu     sync.Mutex
	now    []*Wait               // by part, as compute; nil: it waits for no other process
	waited map[int]time.Duration // by the part that was waited for
}

// Wait is what a part of this process waits for.
type Wait struct {
	For  int    // the part that it waits for
	What string // such as "halo rows of layer 1 forward"

	since time.Time
	idle  atomic.Int64 // when its device had nothing left to compute, in ns from since on, 1 at least; 0: it has something still
}

// Watch has the hub note the waits for parts beyond those of this process, which are those from first on and compute on these queues. It is
// called before any part waits.
func (h *Hub) Watch(first int, compute []gpu.Queue) *Watch {
	h.watch = &Watch{first: first, compute: compute, now: make([]*Wait, len(compute)), waited: map[int]time.Duration{}}
	return h.watch
}

// Now returns what the first part that waits for another process waits for; nil: none does.
func (w *Watch) Now() *Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.now {
		if x != nil {
			return x
		}
	}
	return nil
}

// Take returns how long parts have waited for each part of another process since the last call, while their devices had nothing to compute.
func (w *Watch) Take() map[int]time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.waited
	w.waited = map[int]time.Duration{}
	return taken
}

// begin notes a wait, if it is for another process. It stays noted if nobody calls end.
func (w *Watch) begin(waiter, owner int, what string) (end func()) {
	if w == nil || owner >= w.first && owner < w.first+len(w.compute) {
		return func() {}
	}
	x := &Wait{For: owner, What: what, since: time.Now()}
	w.compute[waiter-w.first].Call("wait for other ranks", func() error {
		x.idle.Store(max(1, int64(time.Since(x.since))))
		return nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now[waiter-w.first] = x
	return func() {
		took := time.Since(x.since)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now[waiter-w.first] = nil
		if idle := time.Duration(x.idle.Load()); idle > 0 {
			w.waited[owner] += max(0, took-idle)
		}
	}
}
