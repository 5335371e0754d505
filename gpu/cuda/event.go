//go:build cuda

package cuda

import (
	"sync"

	"capgnn/gpu"
)

// event marks a point of a queue; it implements gpu.Event. Its driver event serves the queue again once it has fired.
type event struct {
	queue    *queue
	recorded chan struct{} // closed by the device's thread when handle is recorded, or never will be
	rested   bool          // once recorded: when the event has fired, so have all timing events of what was before it

	mu     sync.Mutex
	handle eventHandle // 0: not recorded, or used by another event since this one fired
	fired  bool
	err    error     // what the driver said instead of firing
	users  int       // goroutines that wait for handle
	left   sync.Cond // one of them has left
	done   chan struct{}
}

// Record returns an event that fires when everything enqueued so far has run, or was passed over after a fault: the last one again
// if nothing was enqueued since.
func (q *queue) Record() gpu.Event {
	if e := q.idle(); e != nil {
		return e
	}
	return q.record(false)
}

// record records an event, after a rest of the queue's clock if it is to, or if nothing more has been handed over.
func (q *queue) record(rest bool) *event {
	e := &event{queue: q, recorded: make(chan struct{})}
	q.enqueue(command{op: "Record", order: true, run: func() error {
		defer close(e.recorded)
		if rest || len(q.backlog) == 1 {
			q.rest()
		}
		e.rested = !q.clock.running
		return q.mark(e)
	}})
	q.flush()
	q.newest = e
	return e
}

// mark records e. An event that cannot be recorded counts as fired: the queue has a fault, and nobody may hang on it.
func (q *queue) mark(e *event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	handle, err := q.idleEvent()
	if err == nil {
		if err = recordEvent(handle, q.stream); err != nil {
			freeEvent(handle)
		}
	}
	if err != nil {
		q.failLate(err) // before anybody hears that the event has fired
		e.err = err
		e.fire()
		return err
	}
	e.handle = handle
	q.inflight = append(q.inflight, e)
	return nil
}

// spareEvents is how many recorded events a queue leaves alone before it looks whether the oldest has fired.
const spareEvents = 8

// idleEvent returns a driver event that nobody waits for: that of the queue's oldest event if it has fired, else a new one.
func (q *queue) idleEvent() (eventHandle, error) {
	if len(q.inflight) > spareEvents {
		if h := q.inflight[0].release(); h != 0 {
			q.inflight = q.inflight[1:]
			return h, nil
		}
	}
	return newEvent(false)
}

// release gives the driver event away if e has fired and nobody is waiting in the driver for it.
func (e *event) release() eventHandle {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users > 0 || !e.fired && !eventFired(e.handle) {
		return 0
	}
	e.fire()
	h := e.handle
	e.handle = 0
	return h
}

// retire ends e, which has fired: its queue is idle. The driver event goes when those who are just coming back from waiting for it have
// left; the context is kept and would keep it.
func (e *event) retire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fire()
	for e.left.L = &e.mu; e.users > 0; {
		e.left.Wait()
	}
	if e.handle != 0 {
		freeEvent(e.handle)
	}
	e.handle = 0
}

// hasFired reports whether somebody has seen e fire.
func (e *event) hasFired() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fired
}

// fire closes done, once. e.mu is held.
func (e *event) fire() {
	if !e.fired && e.done != nil {
		close(e.done)
	}
	e.fired = true
}

// await blocks until the recorded event has fired, and returns the device's error if there was one; it is the queue's fault.
func (e *event) await() error {
	e.mu.Lock()
	if e.fired {
		defer e.mu.Unlock()
		return e.err
	}
	h := e.handle
	e.users++
	e.mu.Unlock()
	err := awaitEvent(e.queue.dev.ctx, h)
	if err != nil {
		e.queue.failLate(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.users--
	e.left.Broadcast()
	if e.err == nil {
		e.err = err
	}
	e.fire()
	return e.err
}

// Done is closed when the event has fired.
func (e *event) Done() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done == nil {
		e.done = make(chan struct{})
		if e.fired {
			close(e.done)
			return e.done
		}
		// Ends with the event; the device's Close waits for all of them by waiting for the queues.
		go func() {
			<-e.recorded
			e.await()
		}()
	}
	return e.done
}

// Wait delays everything enqueued later until ev has fired.
func (q *queue) Wait(ev gpu.Event) {
	e, ok := ev.(*event)
	if !ok {
		done := ev.Done()
		q.enqueue(command{op: "Wait", phase: gpu.PhaseWait, order: true, wait: until(done)})
		return
	}
	q.enqueue(command{op: "Wait", phase: gpu.PhaseWait, order: true, timed: true, wait: until(e.recorded), run: func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.fired {
			return nil
		}
		return waitEvent(q.stream, e.handle)
	}})
}

// until is a command's wait for a channel to close.
func until(closed <-chan struct{}) func() func() {
	return func() func() {
		select {
		case <-closed:
			return nil
		default:
			return func() { <-closed }
		}
	}
}
