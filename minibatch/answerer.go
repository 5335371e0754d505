package minibatch

import (
	"encoding/binary"
	"fmt"

	"capgnn/cluster"
	"capgnn/graph"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// answerer answers what a part of another rank asks this one for. Its goroutine is the trainer's, and ends with the hub.
type answerer struct {
	net   *link.Net
	hub   *meet.Hub
	part  int          // that asks
	hear  cluster.Area // of requests
	say   cluster.Area // of answers
	books books
	pack  func(table int, dst []byte, v graph.NodeID) int // writes a row of this rank

	area []byte        // of requests
	out  []byte        // an answer
	came chan incoming // a request is whole; 1 slot
	left chan struct{} // out may be written to; 1 slot
}

// incoming is a request that has come.
type incoming struct {
	message uint32
	bytes   int
}

// open begins to expect requests.
func (a *answerer) open() {
	a.area = make([]byte, a.hear.Bytes)
	a.out = words(a.say.Bytes)[:a.say.Bytes]
	a.came, a.left = make(chan incoming, 1), make(chan struct{}, 1)
	a.left <- struct{}{}
	a.net.Expect(a.hear, a.area, a.arrived)
}

// arrived is the net's. A request that announces more than there is room for is whole, too: it is refused.
func (a *answerer) arrived(message uint32, hi int) {
	n, known := requestBytes(a.area[:hi])
	if !known || hi < n && n <= len(a.area) {
		return
	}
	select {
	case a.came <- incoming{message, hi}:
	default: // it goes on behind its end, and is refused
	}
}

func (a *answerer) run() {
	var ids []graph.NodeID
	ended := a.hub.Context().Done()
	for {
		var x incoming
		select {
		case x = <-a.came:
		case <-ended:
			return
		}
		select {
		case <-a.left:
		case <-ended:
			return
		}
		table, list, err := a.books.read(a.area[:x.bytes], ids[:0])
		if err != nil {
			a.hub.Fail(fmt.Errorf("refuse a request of part %d of rank %d: %w", a.part, a.hear.From, err))
			return
		}
		ids = list
		binary.LittleEndian.PutUint32(a.out, uint32(len(ids)))
		n := answerHeader
		for _, v := range ids {
			n += a.pack(table, a.out[n:], v)
		}
		a.net.Taken(a.hear, x.message)
		a.net.Send(nil, a.say, x.message, 0, a.out[:n], "rows", func() { a.left <- struct{}{} })
	}
}
