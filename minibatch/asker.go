package minibatch

import (
	"encoding/binary"
	"fmt"
	"sync"

	"capgnn/cluster"
	"capgnn/graph"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// asker is a part's way to the rows of another rank. Requests leave in the order in which they were asked, the next one while the answer to the one before is under way, and
// answers come in that order. It is used by several goroutines, and by callbacks of the net.
type asker struct {
	net  *link.Net
	hub  *meet.Hub
	part int          // that asks
	ask  cluster.Area // of requests
	hear cluster.Area // of answers
	area []byte       // the same here

	mu      sync.Mutex
	waiting []query  // that have not been sent
	under   []query  // that have been, and have no answer
	free    [][]byte // memory of requests
	next    uint32   // message
	closed  bool     // nothing is written any more
}

// query is a request that is one message, and its answer another one.
type query struct {
	table, owner int
	ids          []graph.NodeID
	bytes        int                              // of the rows
	from, offset int                              // ids and bytes of the same request before these
	put          func(from, offset int, r []byte) // takes the rows
	done         chan struct{}                    // closed behind it; nil: others of the same request follow
}

// requestsAhead is how many requests are written before answers have come.
const requestsAhead = 2

// open begins to expect answers.
func (a *asker) open() {
	a.area = words(a.hear.Bytes)[:a.hear.Bytes]
	for range requestsAhead {
		a.free = append(a.free, make([]byte, requestHeader+4*mostAsked))
	}
	a.net.Expect(a.hear, a.area, a.arrived)
}

// want requests rows of a size each, in as many messages as needed. It calls put with the rows of each answer, which
// put must not keep, and with the numbers of ids and bytes before them. The event fires after the last one; until
// then ids must not be written to.
func (a *asker) want(table, owner int, ids []graph.NodeID, size func(v graph.NodeID) int, put func(from, offset int, r []byte)) event {
	done := make(event)
	a.mu.Lock()
	defer a.mu.Unlock()
	for from, offset := 0, 0; from < len(ids); {
		n, bytes := portion(ids[from:], size, a.hear.Bytes-answerHeader)
		x := query{table: table, owner: owner, ids: ids[from : from+n], bytes: bytes, from: from, offset: offset, put: put}
		if from, offset = from+n, offset+bytes; from == len(ids) {
			x.done = done
		}
		a.waiting = append(a.waiting, x)
	}
	a.pump()
	return done
}

// portion returns how many of the ids one request asks for, from the first on, and the bytes of their rows, which are at most so many.
func portion(ids []graph.NodeID, size func(v graph.NodeID) int, most int) (n, bytes int) {
	for ; n < min(len(ids), mostAsked); n++ {
		s := size(ids[n])
		if bytes+s > most {
			break
		}
		bytes += s
	}
	return n, bytes
}

// pump sends requests for which there is memory. a.mu is locked.
func (a *asker) pump() {
	for len(a.waiting) > 0 && len(a.free) > 0 && !a.closed {
		x, mem := a.waiting[0], a.free[len(a.free)-1]
		a.waiting, a.free = a.waiting[1:], a.free[:len(a.free)-1]
		a.under = append(a.under, x)
		a.net.Send(nil, a.ask, a.next, 0, putRequest(mem, x.table, x.owner, x.ids), "requests of rows", func() { a.sent(mem) })
		a.next++
	}
}

// sent takes the memory of a request back.
func (a *asker) sent(mem []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free = append(a.free, mem)
	a.pump()
}

// arrived is the net's.
func (a *asker) arrived(message uint32, hi int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if len(a.under) == 0 || message != a.next-uint32(len(a.under)) {
		a.hub.Fail(fmt.Errorf("rank %d answers what part %d has not asked", a.hear.From, a.part))
		return
	}
	x := a.under[0]
	switch want := answerHeader + x.bytes; {
	case hi < want:
		return
	case hi > want || int(binary.LittleEndian.Uint32(a.area)) != len(x.ids):
		a.hub.Fail(fmt.Errorf("rank %d answers part %d, which has asked for %d rows of %d bytes, with %d bytes", a.hear.From, a.part, len(x.ids), want-answerHeader, hi-answerHeader))
		return
	}
	x.put(x.from, x.offset, a.area[answerHeader:hi])
	a.under = a.under[1:]
	a.net.Taken(a.hear, message)
	if x.done != nil {
		close(x.done)
	}
}

// close has answers that come later, such as those for steps that an interrupted run does not take, be written nowhere.
func (a *asker) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// event fires when it is closed.
type event chan struct{}

func (e event) Done() <-chan struct{} { return e }
