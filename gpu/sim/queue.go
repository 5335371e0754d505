package sim

import (
	"sync"

	"capgnn/gpu"
)

// Queue runs operations in order, and notes what they take. It implements gpu.ResidentQueue and gpu.PeerCopier.
type Queue struct {
	dev      *Device
	name     string
	lane     int // its number on the device
	inner    gpu.Queue
	resident bool               // uploads and downloads do not cross the link
	waits    int                // for events of other queues, behind the last operation; of the goroutine that uses the queue
	senders  map[*Device]*Queue // of a resident queue: on each of them the parcels of one device come in order; of the goroutine that uses the queue

	// Guarded by the clock's lock.
	pending []*node
	last    *node // most recent operation
	usage   gpu.Usage

	mu    sync.Mutex
	fault *gpu.Fault // injected
}

var (
	_ gpu.ResidentQueue = (*Queue)(nil)
	_ gpu.PeerCopier    = (*Queue)(nil)
)

// admit reports whether the operation is to run: neither the queue nor the device is out of order.
func (q *Queue) admit(op string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fault == nil && !q.dev.admit() {
		q.fault = &gpu.Fault{Device: q.dev.info.Name, Queue: q.name, Op: op, Err: gpu.ErrDeviceLost}
	}
	return q.fault == nil
}

// compute enqueues an operation: run hands it to the device that does the arithmetic, and panics if its shapes are wrong.
func (q *Queue) compute(op string, phase gpu.Phase, work []part, run func()) {
	if !q.admit(op) {
		return
	}
	run()
	n := &node{q: q, op: op, phase: phase, threads: q.dev.active, uses: []*engine{&q.dev.computes}}
	for i := range work {
		if p := &work[i]; !p.empty() {
			if q.dev.samples != nil && p.index != nil {
				p.reuse = q.dev.reuseOf(p.index)
			}
			p.turns = q.dev.turns()
			t := q.dev.costs.seconds(p)
			n.work += t
			n.crowd += t * q.dev.costs.crowded(p)
			n.bytes += p.bytes
		}
	}
	if n.work == 0 {
		return
	}
	n.crowd /= n.work
	n.work += q.dev.costs.launch() + q.waited()
	q.dev.clock.add(n)
}

// aggregate is compute for a product with adjacency of so many entries × columns.
func (q *Queue) aggregate(op string, work []part, spmm int64, run func()) {
	q.compute(op, gpu.PhaseAggregation, work, run)
	q.count(gpu.Usage{SpMM: spmm})
}

// count adds to the usage of a device that does not count itself.
func (q *Queue) count(u gpu.Usage) {
	if !q.dev.counts || q.failed() {
		return
	}
	q.dev.clock.mu.Lock()
	defer q.dev.clock.mu.Unlock()
	q.usage = q.usage.Add(u)
}

func (q *Queue) failed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fault != nil
}

// event is a gpu.Event that knows its place in virtual time.
type event struct {
	gpu.Event
	node *node // the last operation before it; nil: there is none
}

// Record implements gpu.Queue.
func (q *Queue) Record() gpu.Event {
	e := event{Event: q.inner.Record()}
	q.dev.clock.mu.Lock()
	defer q.dev.clock.mu.Unlock()
	e.node = q.last
	return e
}

// Wait implements gpu.Queue. An event of a device without a clock has fired when it is waited for.
func (q *Queue) Wait(ev gpu.Event) {
	n := &node{q: q, op: "Wait", phase: gpu.PhaseWait, waits: true}
	if e, ok := ev.(event); ok {
		n.after, ev = e.node, e.Event
		if n.after != nil && n.after.q != q {
			n.tail = q.dev.costs.hop()
			q.waits++
		}
	}
	q.inner.Wait(ev)
	q.dev.clock.add(n)
}

// Call implements gpu.Queue. It takes no virtual time. Without arithmetic all that was enqueued before is done.
func (q *Queue) Call(op string, f func() error) {
	if q.failed() {
		return
	}
	if !q.dev.counts {
		q.inner.Call(op, f)
		return
	}
	if err := f(); err != nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.fault = &gpu.Fault{Device: q.dev.info.Name, Queue: q.name, Op: op, Err: err}
	}
}

// Fault implements gpu.Queue.
func (q *Queue) Fault() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fault != nil {
		return q.fault
	}
	return q.inner.Fault()
}

// Sync implements gpu.Queue. It waits for the arithmetic and takes no virtual time.
func (q *Queue) Sync() error {
	q.inner.Sync() // its fault is the one that Fault returns, if none was injected before
	return q.Fault()
}

// Usage implements gpu.Queue: times are virtual. The clock lets everything take place that was enqueued, on all devices.
func (q *Queue) Usage() gpu.Usage {
	counted := q.inner.Usage()
	c := q.dev.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	u := q.usage
	if !q.dev.counts {
		u.H2D, u.D2H, u.Peer, u.SpMM = counted.H2D, counted.D2H, counted.Peer, counted.SpMM
	}
	return u
}
