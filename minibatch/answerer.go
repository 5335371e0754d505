package minibatch

import (
	"encoding/binary"
	"fmt"

	"capgnn/graph"
	"capgnn/internal/meet"
	"capgnn/internal/together"
)

// answerer answers what a part of another rank asks this one for. Its goroutine is the trainer's, and ends with the hub.
type answerer struct {
	net   together.Ranks
	hub   *meet.Hub
	rank  int // that asks
	part  int // of it
	hear  uint32
	say   uint32
	books books
	pack  func(table int, dst []byte, v graph.NodeID) int // writes a row of this rank

	area []byte        // of requests
	out  []byte        // an answer
	came chan incoming // a request is whole; 1 slot
	left chan error    // out may be written to; 1 slot
}

// incoming is a request that has come.
type incoming struct {
	message uint32
	bytes   int
}

// open begins to expect requests.
func (a *answerer) open() {
	a.area = make([]byte, requestHeader+4*mostAsked)
	a.out = words(answerHeader + a.books.most)[:answerHeader+a.books.most]
	a.came, a.left = make(chan incoming, 1), make(chan error, 1)
	a.left <- nil
	a.net.Expect(a.rank, a.hear, a.area, a.arrived)
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

// run answers until the run is over.
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
		case err := <-a.left:
			if err != nil {
				a.hub.Fail(fmt.Errorf("answer part %d of rank %d: %w", a.part, a.rank, err))
				return
			}
		case <-ended:
			return
		}
		table, list, err := a.books.read(a.area[:x.bytes], ids[:0])
		if err != nil {
			a.hub.Fail(fmt.Errorf("refuse a request of part %d of rank %d: %w", a.part, a.rank, err))
			return
		}
		ids = list
		binary.LittleEndian.PutUint32(a.out, uint32(len(ids)))
		n := answerHeader
		for _, v := range ids {
			n += a.pack(table, a.out[n:], v)
		}
		a.net.Taken(a.rank, a.hear, x.message)
		a.net.Send(a.rank, a.say, x.message, 0, a.out[:n], func(err error) { a.left <- err })
	}
}
