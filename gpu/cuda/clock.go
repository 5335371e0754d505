//go:build cuda

package cuda

import (
	"time"

	"capgnn/gpu"
)

// clock measures how long the device works in each phase: it records a timing event in the stream wherever the phase
// changes, and reads the times later. It belongs to the device's thread.
type clock struct {
	running bool
	phase   gpu.Phase
	op      string    // what the stretch began with
	bytes   gpu.Bytes // that this copies
	stamps  []stamp
	idle    []eventHandle
}

// stamp is a point of the stream at which a stretch of one phase ends, or one begins after a rest.
type stamp struct {
	event  eventHandle
	begins bool
	phase  gpu.Phase // of the stretch that ends here
	op     string    // and what it began with
	bytes  gpu.Bytes // of its copy
}

// maxStamps bounds how many are kept until somebody asks.
const maxStamps = 512

// enter says that what follows in q's stream belongs to the phase of cmd. While the device is traced every command has a stretch of its own.
func (c *clock) enter(q *queue, cmd *command) {
	if c.running && c.phase == cmd.phase && q.dev.trace == nil {
		return
	}
	c.stamp(q, stamp{begins: !c.running, phase: c.phase, op: c.op, bytes: c.bytes})
	c.running, c.phase, c.op = true, cmd.phase, cmd.op
	c.bytes = cmd.moves.H2D + cmd.moves.D2H + cmd.moves.Peer
}

// rest ends the stretch: the queue has nothing more to hand over for now.
func (q *queue) rest() {
	c := &q.clock
	if c.running {
		c.stamp(q, stamp{phase: c.phase, op: c.op, bytes: c.bytes})
		c.running = false
	}
	if len(c.stamps) > maxStamps {
		c.collect(q)
	}
}

// stamp records s. Without events there are no times; what is wrong with the stream shows elsewhere.
func (c *clock) stamp(q *queue, s stamp) {
	var err error
	if n := len(c.idle); n > 0 {
		s.event, c.idle = c.idle[n-1], c.idle[:n-1]
	} else if s.event, err = newEvent(true); err != nil {
		return
	}
	if recordEvent(s.event, q.stream) != nil {
		c.idle = append(c.idle, s.event)
		return
	}
	c.stamps = append(c.stamps, s)
}

// collect adds the stretches that have ended to the queue's usage.
func (c *clock) collect(q *queue) {
	var u gpu.Usage
	n := 0
	for n+1 < len(c.stamps) && eventFired(c.stamps[n+1].event) {
		if s := c.stamps[n+1]; !s.begins {
			if t, err := elapsed(c.stamps[n].event, s.event); err == nil {
				u.Time[s.phase] += time.Duration(t * float64(time.Second))
				q.dev.trace.say(q, s, c.stamps[n].event)
			}
		}
		c.idle = append(c.idle, c.stamps[n].event)
		n++
	}
	c.stamps = append(c.stamps[:0], c.stamps[n:]...)
	q.count(u)
}

// close gives the events back.
func (c *clock) close() {
	for _, s := range c.stamps {
		freeEvent(s.event)
	}
	for _, e := range c.idle {
		freeEvent(e)
	}
	*c = clock{}
}
