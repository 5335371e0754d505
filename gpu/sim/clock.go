package sim

import (
	"sync"
	"time"

	"capgnn/gpu"
)

// Clock is the virtual time of the devices that were opened with it. It stands still while operations are enqueued: they are
// only noted, with what they wait for. Now, or Usage of a queue, then lets all of them take place.
//
// Safe for use by several goroutines; times are repeatable if nobody enqueues while somebody asks.
type Clock struct {
	// Trace is called for every operation when it has taken place, in the order of starts, devices, queues and calls; nil:
	// nobody asks. Set it before the first device is opened. It must not call the clock.
	Trace func(Span)

	mu      sync.Mutex
	devices []*Device
	now     time.Duration
	owners  map[gpu.Buffer]*Device // of every block that was allocated
}

var _ gpu.Clock = (*Clock)(nil)

// Span is one operation in virtual time. Start: its turn had come; a transfer may still wait for its link.
type Span = gpu.Span

// NewClock returns a clock at time 0.
func NewClock() *Clock { return &Clock{owners: map[gpu.Buffer]*Device{}} }

// Now implements gpu.Clock.
func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	return c.now
}

// At implements gpu.Clock.
func (c *Clock) At(ev gpu.Event) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := ev.(event).node
	if n == nil {
		return 0
	}
	c.settle()
	return n.at
}

// node is an operation that has been enqueued and, until done, has not taken place.
type node struct {
	q     *Queue
	op    string
	phase gpu.Phase
	after *node   // what a Wait waits for; nil: it has happened
	waits bool    // is a Wait
	work  float64 // seconds for which the engines are held if nothing is shared
	crowd float64 // how much longer work takes while all others of the host compute that have processors too; 0: not at all
	tail  float64 // seconds from then until the effect is there
	// threads is how many of the host's processors the work takes at full speed; 0: it takes none, or there is no end of them.
	threads float64
	uses    []*engine
	lanes   []lane
	link    bool // is a copy over a link, which may get slow
	flies   bool // the queue goes on while tail passes
	bytes   gpu.Bytes

	ready, begun, end float64 // seconds since the last settling; ready: all before it is done
	seen, going, done bool
	at                time.Duration // end on the clock
}

// engine is a piece of a device that does one thing at a time.
type engine struct{ busy bool }

// Bus is a way that the links of several devices share, in each direction: copies under way at the same time share its rate
// fairly, no copy being faster than its link. A copy between two devices crosses the bus of each, going out of the one and
// into the other.
type Bus struct {
	Name        string
	BytesPerSec float64
}

// lane is a side of a bus.
type lane struct {
	*Bus
	side route // toDevice or fromDevice
}

// add notes an operation behind all others of its queue.
func (c *Clock) add(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.q.pending = append(n.q.pending, n)
	n.q.last = n
}

// settle lets everything that was noted take place.
func (c *Clock) settle() {
	s := schedule{clock: c}
	for _, d := range c.devices {
		s.queues = append(s.queues, d.queues...)
	}
	took := s.run()
	s.trace(c.now)
	for _, n := range s.order {
		n.at = c.now + seconds(n.end)
		n.q.usage.Time[n.phase] += seconds(n.end) - seconds(n.from())
	}
	for _, q := range s.queues {
		clear(q.pending)
		q.pending = q.pending[:0]
	}
	c.now += seconds(took)
}

// from returns when the queue was at the operation: a computation waits for its engine before, as a copy does for its link
// after that.
func (n *node) from() float64 {
	if n.phase == gpu.PhaseTransfer {
		return n.ready
	}
	return n.begun
}

func seconds(s float64) time.Duration { return time.Duration(s*1e9 + 0.5) }
