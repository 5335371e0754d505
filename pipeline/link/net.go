package link

import (
	"fmt"
	"sync"
	"sync/atomic"

	"capgnn/cluster"
	"capgnn/gpu"
	"capgnn/internal/meet"
)

// Transport carries messages between ranks, as packages cluster and cluster/tcp have it.
type Transport interface {
	Rank() int
	Ranks() int
	// Send hands over bytes for an area at another rank, from byte off on, and returns at once. b stays as it is until
	// sent is called. Pieces of one message, by ascending off, have its number, and numbers of an area ascend.
	Send(to int, area, message uint32, off int, b []byte, sent func(error))
	// Expect says where the messages for an area go, and has arrived called when bytes [0,hi) of one are there.
	Expect(from int, area uint32, into []byte, arrived func(message uint32, hi int))
	// Taken says that an area may be written to again.
	Taken(from int, area, message uint32)
}

// Timed is what a Transport has besides whose messages take virtual time, that of simulated devices.
type Timed interface {
	// Depart says that the bytes of a message from byte off on are there when ev fires. Send follows.
	Depart(to int, area, message uint32, off int, ev gpu.Event)
	// Arrival returns the event of bytes [0,hi) of a message, which have arrived.
	Arrival(from int, area, message uint32, hi int) gpu.Event
	// Release says that a reader has copied its rows of a message when ev fires. Taken follows.
	Release(from int, area, message uint32, ev gpu.Event)
}

// Net is the way of a rank to the others. It is safe for use by several goroutines.
type Net struct {
	over  Transport
	timed Timed // nil: messages take real time
	hub   *meet.Hub

	mu      sync.Mutex
	leaving map[cluster.Area]*leaving
}

// leaving is the message to an area of which not all pieces have been sent.
type leaving struct {
	message uint32
	next    int           // byte of the piece whose turn it is
	held    map[int]piece // those behind it that are there, by byte
}

// piece is bytes of a message.
type piece struct {
	b    []byte
	sent func(error)
}

// Over returns the way to other ranks over a transport, for parts that meet by a hub.
func Over(t Transport, hub *meet.Hub) *Net {
	timed, _ := t.(Timed)
	return &Net{over: t, timed: timed, hub: hub, leaving: map[cluster.Area]*leaving{}}
}

// Rank is the number of this rank.
func (n *Net) Rank() int { return n.over.Rank() }

// Ranks is their number.
func (n *Net) Ranks() int { return n.over.Ranks() }

// Send has a piece of a message leave once q has run what it was given, behind the pieces of smaller off; nil: at once.
// b stays as it is until left is called; nil: nobody asks. what, such as "gradients", names it where it cannot be sent.
func (n *Net) Send(q gpu.Queue, to cluster.Area, message uint32, off int, b []byte, what string, left func()) {
	if n.timed != nil && q != nil {
		n.timed.Depart(to.To, to.Number, message, off, q.Record())
	}
	behind(q, func() { n.send(to, message, off, b, what, left) })
}

// Pass is Send of what has come in an inbox: bytes [0,hi) of the message of this number.
func (n *Net) Pass(from *Inbox, hi int, to cluster.Area, message uint32, off int, b []byte, what string, left func()) {
	if n.timed != nil {
		n.timed.Depart(to.To, to.Number, message, off, n.timed.Arrival(from.From, from.Number, message, hi))
	}
	n.send(to, message, off, b, what, left)
}

// behind calls f when q has run what it was given; nil: at once.
func behind(q gpu.Queue, f func()) {
	if q == nil {
		f()
		return
	}
	q.Call("tell other ranks", func() error {
		f()
		return nil
	})
}

// send sends a piece and those behind it, as far as their turn has come.
func (n *Net) send(to cluster.Area, message uint32, off int, b []byte, what string, left func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.leaving[to]
	if l == nil || l.message != message {
		l = &leaving{message: message, held: map[int]piece{}}
		n.leaving[to] = l
	}
	l.held[off] = piece{b, func(err error) {
		if err != nil {
			n.hub.Fail(fmt.Errorf("send %s to rank %d: %w", what, to.To, err))
		} else if left != nil {
			left()
		}
	}}
	for p, there := l.held[l.next]; there; p, there = l.held[l.next] {
		delete(l.held, l.next)
		n.over.Send(to.To, to.Number, message, l.next, p.b, p.sent)
		l.next += len(p.b)
	}
}

// Expect says where the messages for an area go, and has arrived called when bytes [0,hi) of one are there.
func (n *Net) Expect(a cluster.Area, into []byte, arrived func(message uint32, hi int)) {
	n.over.Expect(a.From, a.Number, into, arrived)
}

// Taken says that an area may be written to again.
func (n *Net) Taken(a cluster.Area, message uint32) { n.over.Taken(a.From, a.Number, message) }

// Last returns what calls f when it is called for the n-th time.
func Last(n int, f func()) func() {
	var calls atomic.Int64
	return func() {
		if int(calls.Add(1)) == n {
			f()
		}
	}
}
