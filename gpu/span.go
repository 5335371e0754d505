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
	// Trace has f called for everything that the device's queues do from now on, when it has been done; f = nil ends that. Spans of one queue come in order, those of
	// different queues on different goroutines. Times of a Clocked device are those of its clock, others count from began. They are where
	// operations ran, so that a queue may seem to begin one before the last has ended, as far as copies over an emulated link are counted in the link's time.
	// All queues should be idle: what is under way may be missing. Nothing that operations compute depends on it.
	Trace(began time.Time, f func(Span))
}
