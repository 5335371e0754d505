package link

import (
	"sync"

	"capgnn/cluster"
	"capgnn/gpu"
	"capgnn/internal/meet"
)

// Inbox is memory in which the messages of an area arrive, one after the other.
type Inbox struct {
	cluster.Area
	Mem []byte

	net     *Net
	mu      sync.Mutex
	message int64         // that is there or comes; −1: none came yet
	hi      int           // bytes of it that are there
	copies  int           // readers that have copied what they read of it
	changed chan struct{} // is closed when more is there
}

// Reader is a part that waits for a message.
type Reader struct {
	Part, Owner int    // its number, and that of a part that it waits for
	What        string // that it waits for, such as "halo rows of layer 1 forward"
	// Wrong says why the run has to end as another message is there than is due; nil: it may. A Reader without it waits.
	Wrong func(message uint32) error
}

// NewInbox returns the inbox of an area in some memory.
func NewInbox(a cluster.Area, mem []byte) *Inbox {
	return &Inbox{Area: a, Mem: mem, message: -1, changed: make(chan struct{})}
}

// Open has messages arrive from now on. more is told whenever bytes [0,hi) of one are there; nil: nobody is.
func (in *Inbox) Open(n *Net, more func(message uint32, hi int)) {
	in.net = n
	n.Expect(in.Area, in.Mem, func(message uint32, hi int) {
		in.mu.Lock()
		defer in.mu.Unlock()
		if m := int64(message); m < in.message || m == in.message && hi <= in.hi { // the callback is late
			return
		}
		in.message, in.hi = int64(message), hi
		close(in.changed)
		in.changed = make(chan struct{})
		if more != nil {
			more(message, hi)
		}
	})
}

// There reports whether bytes [0,hi) of a message are there.
func (in *Inbox) There(message uint32, hi int) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.message == int64(message) && in.hi >= hi
}

// Await returns when bytes [0,hi) of a message are there; in virtual time queues wait for them. It ends the reader's
// meet.Guard where they do not come.
func (in *Inbox) Await(by Reader, message uint32, hi int, queues ...gpu.Queue) {
	for {
		in.mu.Lock()
		got, there, changed := in.message, in.hi, in.changed
		in.mu.Unlock()
		if got == int64(message) && there >= hi {
			break
		}
		if got >= 0 && got != int64(message) && by.Wrong != nil {
			if err := by.Wrong(uint32(got)); err != nil {
				meet.Stop(err)
			}
		}
		meet.Receive(in.net.hub, changed, by.Part, by.Owner, by.What)
	}
	if in.net.timed != nil {
		for _, q := range queues {
			q.Wait(in.net.timed.Arrival(in.From, in.Number, message, hi))
		}
	}
}

// Taken says that one of so many readers has copied all that it reads of a message, when q has; nil: now. Behind the
// last one the area may be written to again.
func (in *Inbox) Taken(q gpu.Queue, message uint32, readers int) {
	if in.net.timed != nil && q != nil {
		in.net.timed.Release(in.From, in.Number, message, q.Record())
	}
	behind(q, func() {
		in.mu.Lock()
		in.copies++
		last := in.copies == readers
		if last {
			in.copies = 0
		}
		in.mu.Unlock()
		if last {
			in.net.Taken(in.Area, message)
		}
	})
}
