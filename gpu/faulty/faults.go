package faulty

import (
	"time"

	"capgnn/gpu"
)

// Faults is what goes wrong on a device. The zero value: nothing does. Of several faults at one operation, loss comes
// first.
type Faults struct {
	// Stall: the operation does not begin, and so nothing after it in its queue, until Device.Release.
	Stall Point
	// Broken: the operation fails, and with it its queue. The other queues go on.
	Broken Point
	// Lost: from this operation on no queue does anything; those that are to do something have the fault gpu.ErrDeviceLost,
	// and so have allocations.
	Lost Point
	// Poison: everything that the operation writes to device memory is NaN. What an Upload writes may be no floats: it is
	// left as it is.
	Poison Point
	// NoMemoryAt makes the allocation of this number fail with *gpu.OutOfMemory, counted from 1; 0 = none does.
	NoMemoryAt int
	// Delays make the device slow at random.
	Delays Delays
}

// Point names an operation of a device.
type Point struct {
	Queue string // "" = any
	Op    string // name of the method of gpu.Queue or gpu.PeerCopier; "" = any
	At    int    // which of those, counted from 1 over all queues in the order of the calls; 0 = none
}

// Delays are pauses at random places: before operations and records a queue stands still, or the caller does.
type Delays struct {
	Seed  uint64
	Queue string        // that pauses; "" = any
	Most  time.Duration // pauses last from 0 to Most; 0 = there are none
	Share float64       // of the operations and records that a pause comes before; 0 = 1
}

// counted is a Point and what has been seen of it.
type counted struct {
	Point
	seen int
}

// reached counts an operation and reports whether it is the one.
func (c *counted) reached(queue, op string) bool {
	if c.At == 0 || c.Queue != "" && c.Queue != queue || c.Op != "" && c.Op != op {
		return false
	}
	c.seen++
	return c.seen == c.At
}

// event is a gpu.Event that fires by closing.
type event chan struct{}

var _ gpu.Event = event(nil)

func (e event) Done() <-chan struct{} { return e }
