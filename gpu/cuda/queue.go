//go:build cuda

package cuda

import (
	"sync"

	"gorgonia.org/cu"

	"capgnn/gpu"
)

// queue is a stream of a device. It implements gpu.Queue and gpu.PeerCopier.
type queue struct {
	dev  *device
	name string
	lane int // its number on the device

	// Of whoever enqueues.
	batch   []command
	op      string
	phase   gpu.Phase
	scratch *buffer
	newest  *event // behind everything enqueued; nil: something was enqueued since
	tallied *event // at which all times had been added up

	// Of the device's thread.
	backlog  []command
	parked   bool
	waited   bool // what the first command of the backlog had to wait for has happened
	stream   cu.Stream
	clock    clock
	inflight []*event // recorded, oldest first
	staging  *staging
	blas     *blasHandle

	mu    sync.Mutex
	usage gpu.Usage
	fault error
	last  string // operation whose driver calls were made last, other than events
}

var (
	_ gpu.Queue      = (*queue)(nil)
	_ gpu.PeerCopier = (*queue)(nil)
)

// failed reports whether the queue has a fault.
func (q *queue) failed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fault != nil
}

// fail keeps the queue's first fault.
func (q *queue) fail(op string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dev.primary.note(err)
	if q.fault == nil {
		q.fault = &gpu.Fault{Device: q.dev.info.Name, Queue: q.name, Op: op, Err: err}
	}
}

// count adds to the queue's usage.
func (q *queue) count(u gpu.Usage) {
	q.mu.Lock()
	q.usage = q.usage.Add(u)
	q.mu.Unlock()
}

// failLate keeps an error that the device gave when it was waited for: of what it was asked to do last, as far as we know.
func (q *queue) failLate(err error) {
	q.mu.Lock()
	op := q.last
	q.mu.Unlock()
	q.fail(op, err)
}

// Sync blocks until everything enqueued has run and returns the queue's first fault, if any.
func (q *queue) Sync() error {
	e := q.idle()
	if e != nil {
		<-e.recorded
	}
	if e == nil || !e.rested {
		e = q.record(true)
		<-e.recorded
	}
	e.await()
	return q.Fault()
}

// idle returns the event behind which nothing was enqueued; nil if something was, or if the device is lost: then whoever asks
// shall hear of it.
func (q *queue) idle() *event {
	if q.dev.primary.lost.Load() {
		return nil
	}
	return q.newest
}

// Fault returns the first fault of what has run so far, as far as the device was asked.
func (q *queue) Fault() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fault
}

// Usage returns what the queue has done since it was made. Exact after Sync.
func (q *queue) Usage() gpu.Usage {
	if e := q.idle(); e == nil || e != q.tallied {
		q.flush()
		all := e != nil && e.hasFired() && e.rested
		q.dev.do(func() { q.clock.collect(q) })
		if all {
			q.tallied = e
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.usage
}
