package halo

import (
	"fmt"

	"capgnn/gnn"
	"capgnn/gpu"
)

// ID names one exchange of an epoch.
type ID struct {
	Layer int
	Dir   gnn.Direction
}

func (l ID) String() string { return fmt.Sprintf("layer %d %s", l.Layer, l.Dir) }

// shipment tells a reader where an owner's rows of one exchange are and when they are ready.
type shipment struct {
	epoch  int // that made the rows
	buffer int // where they wait: 0 the send buffer of rows that are used at once, 1 the exchange's own
	blocks []int
	ready  gpu.Event     // rows can be read
	rows   []gpu.Matrix  // by place in blocks: the reader's rows in the owner's send buffer
	staged [][]byte      // the same on the host, where the reader cannot reach the owner's memory; else nil
	pieces [][]gpu.Event // the same: each piece of them is there

	shared []entry // by place in blocks: what the owner puts into the global cache; nil: nothing
}

// lane carries the shipments of one exchange from one owner to one reader, and back when the rows have been copied. Nobody blocks who
// posts or confirms: a send buffer is used again only when its readers have confirmed. All that owner and reader share of each other is a
// lane and, in one process, memory: what a shipment has staged can be read where the owner's device cannot be reached.
type lane interface {
	post(s shipment)                       // by the owner
	posted() <-chan shipment               // for the reader
	confirm(buffer int, copied gpu.Event)  // by the reader: it fires when the rows of a send buffer have been copied
	confirmed(buffer int) <-chan gpu.Event // for the owner
}

// mailbox is the lane between two parts of one process. It holds what an epoch and the start of the next one put there.
type mailbox struct {
	mail  chan shipment
	taken [2]chan gpu.Event // by send buffer
}

const laneDepth = 4

func (m *mailbox) post(s shipment)                       { m.mail <- s }
func (m *mailbox) posted() <-chan shipment               { return m.mail }
func (m *mailbox) confirm(buffer int, copied gpu.Event)  { m.taken[buffer] <- copied }
func (m *mailbox) confirmed(buffer int) <-chan gpu.Event { return m.taken[buffer] }

func newLanes(owners int) []lane {
	l := make([]lane, owners)
	for k := range l {
		l[k] = &mailbox{make(chan shipment, laneDepth), [2]chan gpu.Event{make(chan gpu.Event, 1), make(chan gpu.Event, 1)}}
	}
	return l
}
