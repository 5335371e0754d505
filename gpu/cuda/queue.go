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

	// Of whoever enqueues.
	batch   []command
	op      string
	phase   gpu.Phase
	scratch *buffer

	// Of the device's thread.
	backlog  []command
	parked   bool
	waited   bool // what the first command of the backlog had to wait for has happened
	stream   cu.Stream
	clock    clock
	inflight []*event // recorded, oldest first
	staging  *staging
	blas     *blasHandle
	last     string // operation whose driver calls were made last

	mu    sync.Mutex
	usage gpu.Usage
	fault error
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

// Sync blocks until everything enqueued has run and returns the queue's first fault, if any.
func (q *queue) Sync() error {
	e := q.record()
	<-e.recorded
	if err := e.await(); err != nil {
		q.fail(q.lastOp(), err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fault
}

// lastOp is what the device was asked to do last in this queue; the queue is idle.
func (q *queue) lastOp() (op string) {
	q.dev.do(func() { op = q.last })
	if op == "" {
		op = "Sync"
	}
	return op
}

// Usage returns what the queue has done since it was made. Exact after Sync.
func (q *queue) Usage() gpu.Usage {
	q.flush()
	q.dev.do(func() { q.clock.collect(q) })
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.usage
}
