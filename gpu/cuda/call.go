//go:build cuda

package cuda

import (
	"fmt"

	"capgnn/gpu"
)

// Call runs f on the host when everything enqueued so far has run, and before anything enqueued later does: the queue is
// parked until f has returned.
func (q *queue) Call(op string, f func() error) {
	e := &event{queue: q, recorded: make(chan struct{})}
	var err error
	q.enqueue(command{op: op, phase: gpu.PhaseOther, run: func() error { return q.mark(e) }})
	q.enqueue(command{op: op, phase: gpu.PhaseOther,
		wait: func() func() {
			return func() {
				if err = e.await(); err == nil {
					err = guard(f)
				}
			}
		},
		run: func() error { return err }})
	q.flush() // the host has something to do
}

// guard runs f and turns its panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return f()
}
