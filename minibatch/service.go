package minibatch

import (
	"sync"

	"capgnn/gpu"
	"capgnn/graph"
)

// service brings rows of other parts to one part. It is used by several goroutines.
type service interface {
	// ask has the owners of rows send them, and does not wait for them. The event of each request fires when its rows are in its area, or when they will never be:
	// then there is a fault. Until then requests are not written, nor areas read.
	ask(requests []request) []gpu.Event
	// fault returns the first error of what was asked.
	fault() error
}

// request is rows that a part asks another one for. They go to the area as packed rows, one behind the other.
type request struct {
	owner int
	ids   []graph.NodeID
	area  []byte
}

// neighbours is the service between parts of one process. The rows of all of them lie in its memory; on their way to another device they cross the links of both.
type neighbours struct {
	g       *stage
	devices []gpu.Device // by part

	mu    sync.Mutex
	queue gpu.ResidentQueue // of the part's device; nil: it has no link that is emulated, or a simulated one (Trainer.charge)
}

// idBytes is the size of a vertex's number in a request.
const idBytes = 4

func (n *neighbours) ask(requests []request) []gpu.Event {
	events := make([]gpu.Event, len(requests))
	if n.queue == nil {
		n.answer(requests)
		for i := range events {
			events[i] = fired{}
		}
		return events
	}
	var parcels []gpu.Parcel
	for i := range requests {
		r := &requests[i]
		parcels = append(parcels, gpu.Parcel{From: n.devices[r.owner], Ask: idBytes * gpu.Bytes(len(r.ids)), Answer: gpu.Bytes(len(r.area))})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue.Fetch(parcels, func() { n.answer(requests) })
	sent := n.queue.Record()
	for i := range events {
		events[i] = sent
	}
	return events
}

// answer copies rows from where their owners have them.
func (n *neighbours) answer(requests []request) {
	for i := range requests {
		area := requests[i].area
		for _, v := range requests[i].ids {
			area = area[n.g.packRow(area, v):]
		}
	}
}

func (n *neighbours) fault() error {
	if n.queue == nil {
		return nil
	}
	return n.queue.Fault()
}

// fired is an event that has fired.
type fired struct{}

var always = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done implements gpu.Event.
func (fired) Done() <-chan struct{} { return always }
