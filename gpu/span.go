package gpu

import "time"

// Span is one operation, copy, call or wait of a queue in time.
type Span struct {
	Device, Queue, Op string
	Lane              int // number of the queue on its device, from 0, in the order in which queues were made
	Phase             Phase
	Start, End        time.Duration
	Bytes             Bytes // of a copy
}

// Traced is implemented by devices that can say when their operations ran.
type Traced interface {
	// Trace calls f for everything that the device's queues do from now on, after it was done; f = nil ends that.
	// Spans of one queue come in order, those of different queues on different goroutines. Times of a Clocked device
	// are those of its clock, others count from began. With an emulated link the time of a copy is the link's, so an
	// operation may seem to begin before the last one has ended. All queues should be idle, else running operations
	// may be missing. Results of operations do not depend on it.
	Trace(began time.Time, f func(Span))
}
