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

// lane carries the shipments of one exchange from one owner to one reader, and back when the rows have been copied. It holds
// what an epoch and the start of the next one put there, so nobody blocks who posts: a send buffer is used again only when its
// readers have confirmed.
type lane struct {
	mail  chan shipment
	taken [2]chan gpu.Event // by send buffer: fires when the reader has copied the rows
}

const laneDepth = 4

// newLanes returns the lanes of so many owners to one reader.
func newLanes(owners int) []lane {
	l := make([]lane, owners)
	for k := range l {
		l[k] = lane{make(chan shipment, laneDepth), [2]chan gpu.Event{make(chan gpu.Event, 1), make(chan gpu.Event, 1)}}
	}
	return l
}
