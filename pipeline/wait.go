package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// Waiting. Devices wait for each other through events, workers for each other through mailboxes, and in the end a worker for
// its own queues. Each wait has a deadline, and tells when it passes who waits for whom.

// waitFault ends a worker's epoch: another worker did not answer, or rows are not those that the schedule promises.
type waitFault struct{ err error }

// guard runs f and turns a waitFault into an error.
func guard(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case waitFault:
			err = r.err
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// echoError is what a worker reports when another one ended the run.
type echoError struct{ err error }

func (e *echoError) Error() string { return e.err.Error() }
func (e *echoError) Unwrap() error { return e.err }

// receive takes one value from ch. It panics with waitFault when the run is over or the deadline has passed: who waits for
// whom is in the error. The worker recovers it.
func receive[T any](h *hub, ch <-chan T, waiter, owner int, what string) T {
	select {
	case v := <-ch:
		return v
	default:
	}
	timer := time.NewTimer(h.deadline)
	defer timer.Stop()
	select {
	case v := <-ch:
		return v
	case <-h.ctx.Done():
		panic(waitFault{&echoError{context.Cause(h.ctx)}})
	case <-timer.C:
		panic(waitFault{h.late(waiter, fmt.Sprintf("part %d: %s", owner, what))})
	}
}

// late is the error of a part that has waited too long.
func (h *hub) late(waiter int, what string) error {
	return &lateError{epoch: h.epoch, waiter: waiter, deadline: h.deadline, what: what}
}

// lateError says who waits for whom. It is a gpu.ErrDeviceLost.
type lateError struct {
	epoch    int // that was enqueued last
	waiter   int
	deadline time.Duration
	what     string
}

func (e *lateError) Error() string {
	return fmt.Sprintf("epoch %d: part %d waited %v for %s: %v", e.epoch, e.waiter, e.deadline, e.what, gpu.ErrDeviceLost)
}

func (e *lateError) Unwrap() error { return gpu.ErrDeviceLost }

// foreign is a wait of a queue for an event of another part.
type foreign struct {
	event gpu.Event
	owner int
	leg   leg
	what  string
}

// waits are the waits of one part: for other parts, and for its own device.
type waits struct {
	hub     *hub
	part    int
	device  string    // its name
	foreign []foreign // waits for other parts that may not be over
}

// waitFor makes a queue wait for an event of another part, and remembers it until it has fired.
func (w *waits) waitFor(q gpu.Queue, ev gpu.Event, owner int, l leg, what string) {
	q.Wait(ev)
	w.foreign = append(w.foreign, foreign{ev, owner, l, what})
}

// settle waits until queues have run everything, and returns their first fault.
func (w *waits) settle(queues ...gpu.Queue) error {
	var first error
	for _, q := range queues {
		if err := w.await(q.Record()); err != nil {
			return err
		}
		if err := q.Sync(); err != nil && first == nil {
			first = err
		}
	}
	w.forget()
	return first
}

// await waits for an event of the worker's own device.
func (w *waits) await(ev gpu.Event) error {
	h := w.hub
	if fired(ev) {
		return nil
	}
	timer := time.NewTimer(h.deadline)
	defer timer.Stop()
	select {
	case <-ev.Done():
	case <-timer.C:
		return w.stalled()
	case <-h.ctx.Done():
		select {
		case <-ev.Done():
		case <-time.After(h.grace()):
			return &echoError{context.Cause(h.ctx)}
		}
	}
	return nil
}

// grace is how long others may take to stop once the run has failed.
func (h *hub) grace() time.Duration { return min(h.deadline, 10*time.Second) }

// stalled returns what a worker whose queues do not come to an end waits for: another part, or its own device.
func (w *waits) stalled() error {
	for _, f := range w.foreign {
		if !fired(f.event) {
			return w.hub.late(w.part, fmt.Sprintf("part %d: %s of %v", f.owner, f.what, f.leg))
		}
	}
	return w.hub.late(w.part, "its own device "+w.device)
}

func fired(ev gpu.Event) bool {
	select {
	case <-ev.Done():
		return true
	default:
		return false
	}
}

// forget drops the waits that are over.
func (w *waits) forget() {
	left := w.foreign[:0]
	for _, f := range w.foreign {
		if !fired(f.event) {
			left = append(left, f)
		}
	}
	clear(w.foreign[len(left):])
	w.foreign = left
}

// rootCause returns the error that the others follow from: a device's before that of one who read its rows, and that before
// the echo of either. Among equals a part that waits for its own device counts before those who wait for that part, then the
// first part.
func rootCause(errs []error) error {
	var best error
	least := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		if r := rank(err); best == nil || r < least {
			best, least = err, r
		}
	}
	return best
}

// rank orders errors by how near they are to the cause, 0 being the nearest.
func rank(err error) int {
	var (
		echo    *echoError
		version *hostmem.VersionFault
		fault   *gpu.Fault
	)
	switch {
	case errors.As(err, &echo), errors.Is(err, context.Canceled) && !errors.As(err, &fault): // others stopped it
		return 3
	case errors.As(err, &version):
		return 2
	case errors.Is(err, gpu.ErrDeviceLost) && !errors.As(err, &fault):
		return 1
	}
	return 0
}
