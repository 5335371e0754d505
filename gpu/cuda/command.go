//go:build cuda

package cuda

import (
	"time"

	"capgnn/gpu"
)

// command is one enqueued piece of work.
type command struct {
	op    string
	phase gpu.Phase
	order bool      // event traffic: runs after a fault too, so that nobody hangs
	timed bool      // the device works on it; its time counts in phase
	moves gpu.Usage // of a copy: its bytes
	// wait, if given, returns what must end before run, nil if nothing must: it is called on the device's thread, what it
	// returns on another goroutine while the queue is parked.
	wait func() func()
	// run makes the driver calls, on the device's thread; nil: nothing is left to do.
	run func() error
}

// batchSize is the number of commands after which a queue hands them over without being asked.
const batchSize = 64

// enqueue adds c to the batch and counts its bytes, unless a fault keeps it from running.
func (q *queue) enqueue(c command) {
	if !c.order && q.failed() {
		return
	}
	q.count(c.moves)
	q.newest = nil
	q.batch = append(q.batch, c)
	if len(q.batch) >= batchSize {
		q.flush()
	}
}

// flush hands the batch over to the device's thread.
func (q *queue) flush() {
	if len(q.batch) == 0 {
		return
	}
	batch := q.batch
	q.batch = make([]command, 0, batchSize)
	q.dev.inbox <- message{queue: q, batch: batch}
}

// drive runs the backlog until it is empty or the queue is parked. It runs on the device's thread.
func (q *queue) drive() {
	for len(q.backlog) > 0 && !q.parked {
		c := &q.backlog[0]
		if c.order || !q.failed() {
			if q.park(c) {
				return
			}
			q.execute(c)
		} else {
			q.count(gpu.Usage{}.Sub(c.moves))
		}
		q.waited = false
		*c = command{}
		q.backlog = q.backlog[1:]
	}
	q.rest()
}

// park lets the queue wait for what c must wait for, if anything.
func (q *queue) park(c *command) bool {
	if c.wait == nil || q.waited {
		return false
	}
	f := c.wait()
	if f == nil {
		return false
	}
	q.rest()
	q.parked = true
	phase := c.phase
	// Ends by itself; Close waits for it with the queue.
	go func() {
		start := time.Now()
		f()
		if phase == gpu.PhaseWait {
			q.count(gpu.Usage{Time: [gpu.PhaseCount]time.Duration{gpu.PhaseWait: time.Since(start)}})
		}
		q.dev.inbox <- message{queue: q, resume: true}
	}()
	return true
}

// execute runs one command whose waiting is done.
func (q *queue) execute(c *command) {
	if c.run == nil {
		return
	}
	if c.timed {
		q.clock.enter(q, c)
	}
	if !c.order {
		q.mu.Lock()
		q.last = c.op
		q.mu.Unlock()
	}
	if err := c.run(); err != nil {
		q.count(gpu.Usage{}.Sub(c.moves))
		q.fail(c.op, err)
	}
}
