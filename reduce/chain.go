package reduce

import (
	"fmt"
	"sync"
	"sync/atomic"

	"capgnn/gpu"
	"capgnn/internal/meet"
)

// Net sends messages to other ranks. An area is memory of a reader that both sides have agreed on: a message fills it
// from its first byte on, and the next message to it waits until the reader has called Taken. Each message has a
// number, larger than those before: that of the step, which is the epoch if epochs have one step. Callbacks run on
// goroutines of the Net.
type Net interface {
	// Send hands over bytes for an area at another rank, from byte off on, and returns at once. b stays as it is until sent is called. Pieces of
	// one epoch, by ascending off, are one message.
	Send(to int, area, epoch uint32, off int, b []byte, sent func(error))
	// Expect sets the memory for the messages to an area; arrived is called when bytes [0,hi) of one are there.
	Expect(from int, area uint32, into []byte, arrived func(epoch uint32, hi int))
	// Taken allows the next message to an area.
	Taken(from int, area, epoch uint32)
}

// Timed is a Net whose messages take virtual time, that of simulated devices. What was waited for on the host has a place in it, which queues wait for.
type Timed interface {
	// Depart reports that the bytes of a message from byte off on are ready when ev fires. Send follows.
	Depart(to int, area, message uint32, off int, ev gpu.Event)
	// Arrival returns the event of bytes [0,hi) of a message, which have arrived.
	Arrival(from int, area, message uint32, hi int) gpu.Event
}

// chain is a rank's way to the one behind it and to the one before it.
//
// Method: every rank sends the sums of its parts and all before to the next rank, as one message of all pieces in the order of the line, each as
// soon as it and those before it are there. The last rank sends new weights back in that order; a rank between hands them on from the memory
// in which they arrive. Pieces of neighbours have other borders, as their devices differ: a piece is there when the message has come to its end.
// All waits for the network are of the host, not of a queue, so that each has its deadline and none outlives the run.
type chain struct {
	*Division
	net                Net
	gradients, weights uint32
	// sums and fresh are host memory as large as all gradients. Sums arrive in the one, and leave it for the next rank: an owner uploads its
	// elements before it downloads the sum. New weights arrive in the other, or at the last rank leave it.
	sums, fresh []byte
	out         *outbox          // of what owners here make: sums, at the last rank weights
	relay       *outbox          // of weights to the rank before; nil: there is none, or they are made here
	back        []chan gpu.Event // by owner: new weights of its pieces, in their order, are there
	free        []chan struct{}  // by owner: what out sent in an epoch has left, so its memory may be written to
}

// Join makes the reduction one of several ranks. Sums and new weights are sent to the areas of these numbers, of the
// size of Division.Bytes, at the next rank and at this one. lock is that of Lock. Call it once, before the first
// epoch.
func (r *Reduction) Join(net Net, gradients, weights uint32, lock func(mem []byte) []byte) {
	n := r.Bytes()
	if r.at.alone() || n == 0 {
		return
	}
	c := &chain{Division: r.Division, net: net, gradients: gradients, weights: weights, sums: lock(make([]byte, n)), fresh: lock(make([]byte, n))}
	r.chain = c
	for o, own := range r.pieces {
		c.back, c.free = append(c.back, make(chan gpu.Event, len(own))), append(c.free, make(chan struct{}, 1))
		c.free[o] <- struct{}{}
	}
	before, behind := r.at.Index-1, r.at.Index+1
	if r.at.last() {
		c.out = c.newOutbox(r.hub, before, weights, c.fresh, "weights")
	} else {
		c.out = c.newOutbox(r.hub, behind, gradients, c.sums, "gradients")
	}
	c.out.left = c.gone
	if before >= 0 && !r.at.last() {
		c.relay = c.newOutbox(r.hub, before, weights, c.fresh, "weights")
		c.relay.left = c.tookWeights
	}
	if before >= 0 {
		net.Expect(before, gradients, c.sums, c.inbox(func(x delivery, epoch uint32) {
			r.shares[x.owner][0] <- c.arrivalOf(before, gradients, epoch, c.piece(x))
		}))
	}
	if !r.at.last() {
		net.Expect(behind, weights, c.fresh, c.inbox(c.come))
	}
}

// arrival is the event of what another rank has sent in a step. It has fired.
type arrival struct {
	step uint32
	at   gpu.Event // in virtual time; nil: there is none
}

// arrivalOf returns that of a piece of a message.
func (c *chain) arrivalOf(from int, area, step uint32, x *piece) arrival {
	a := arrival{step: step}
	if net, timed := c.net.(Timed); timed {
		a.at = net.Arrival(from, area, step, 4*(x.wire+x.len()))
	}
	return a
}

// depart says when a piece is in the memory that an outbox sends: when at fires, nil: when q has done what it was given.
func (o *outbox) depart(x *piece, step uint32, q gpu.Queue, at gpu.Event) {
	net, timed := o.net.(Timed)
	if !timed {
		return
	}
	if at == nil {
		at = q.Record()
	}
	net.Depart(o.to, o.area, step, 4*x.wire, at)
}

// fired is closed.
var fired = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done implements gpu.Event.
func (arrival) Done() <-chan struct{} { return fired }

// message returns the number of the messages of an owner's step under way: that of the steps taken.
func (r *Reduction) message(owner int) uint32 { return uint32(r.parts[owner].Owner.steps) }

// check ends the Guard of an owner that was sent gradients or weights of another step. In virtual time q waits for them.
func (r *Reduction) check(owner int, q gpu.Queue, ev gpu.Event, what string) {
	a := ev.(arrival)
	if n := r.message(owner); a.step != n {
		meet.Stop(fmt.Errorf("receive %s: they are of step %d, here it is step %d: start all ranks from one checkpoint", what, a.step, n))
	}
	if a.at != nil {
		q.Wait(a.at)
	}
}

// pass enqueues what follows the sum of a piece over this rank and all before: its way to the next one, or the step. In one process steps
// are up to Finish, and with clipping, which has to see all sums before, at the last rank too.
func (r *Reduction) pass(owner, index int) {
	switch {
	case r.clip != nil:
		r.square(owner, index, r.parts[owner].lane(index))
	case r.at.alone():
	case r.at.last():
		r.step(owner, index)
	default:
		r.download(owner, index, r.parts[owner].Gradients)
		r.send(owner, index)
	}
}

// download enqueues the copy of an owner's piece of a vector to the host memory that out sends.
func (r *Reduction) download(owner, index int, from gpu.Vec) {
	c, x := r.chain, &r.pieces[owner][index]
	if index == 0 {
		meet.ReceiveRoom(r.hub, c.free[owner], r.number(owner), r.neighbour(), "room for the next message")
	}
	r.parts[owner].lane(index).Download(x.on(c.out.mem), from.Buf, 4*gpu.Bytes(from.Off+x.Lo))
}

// send has a piece sent that is in host memory when the lane gets here.
func (r *Reduction) send(owner, index int) {
	out, turn, step := r.chain.out, r.pieces[owner][index].turn, r.message(owner)
	out.depart(&r.pieces[owner][index], step, r.parts[owner].lane(index), nil)
	r.parts[owner].lane(index).Call("send", func() error {
		out.put(turn, step)
		return nil
	})
}

// neighbour returns the number of the part next to this rank's to which out leads.
func (r *Reduction) neighbour() int {
	if r.at.last() {
		return r.number(-1)
	}
	return r.number(len(r.parts))
}

// takeWeights enqueues the upload of an owner's new weights, which come back from the next rank.
func (r *Reduction) takeWeights(owner int) {
	p := &r.parts[owner]
	for i := range r.pieces[owner] {
		q, x := p.lane(i), &r.pieces[owner][i]
		r.check(owner, q, meet.Receive(r.hub, r.chain.back[owner], r.number(owner), r.neighbour(), "new weights"), "new weights")
		q.Upload(p.Weights.Buf, 4*gpu.Bytes(p.Weights.Off+x.Lo), x.on(r.chain.fresh))
		r.renewed(owner, q.Record())
	}
}

// come hands out a piece of new weights that has arrived: to its owner, and to the rank before.
func (c *chain) come(x delivery, epoch uint32) {
	a := c.arrivalOf(c.at.Index+1, c.weights, epoch, c.piece(x))
	c.back[x.owner] <- a
	turn := c.piece(x).turn
	if c.relay != nil {
		c.relay.depart(c.piece(x), epoch, nil, a.at)
		c.relay.put(turn, epoch)
	} else if turn == len(c.line)-1 {
		c.tookWeights(epoch)
	}
}

// tookWeights frees the memory of new weights when they have arrived, and left for the rank before. Owners may be reading them still: the next
// ones of a piece follow from its gradients at all parts here, and a part has those when it has run all copies of these weights (see step).
func (c *chain) tookWeights(epoch uint32) { c.net.Taken(c.at.Index+1, c.weights, epoch) }

// gone frees the memory of all that out has sent in an epoch. Sums that came in have been read by then: what was sent follows from them.
func (c *chain) gone(epoch uint32) {
	for o, own := range c.pieces {
		if len(own) > 0 {
			c.free[o] <- struct{}{}
		}
	}
	if c.at.Index > 0 {
		c.net.Taken(c.at.Index-1, c.gradients, epoch)
	}
}

// inbox returns what has each called for the pieces of a message as they arrive.
func (c *chain) inbox(each func(x delivery, epoch uint32)) (arrived func(epoch uint32, hi int)) {
	var mu sync.Mutex
	next, last := 0, int64(-1)
	return func(epoch uint32, hi int) {
		mu.Lock()
		defer mu.Unlock()
		if int64(epoch) > last {
			next, last = 0, int64(epoch)
		}
		if int64(epoch) < last { // the callback is late
			return
		}
		for ; next < len(c.line); next++ {
			if x := c.piece(c.line[next]); 4*(x.wire+x.len()) > hi {
				return
			}
			each(c.line[next], epoch)
		}
	}
}

// outbox sends the pieces of a message in their order, whichever is there first.
type outbox struct {
	*Division
	hub  *meet.Hub
	net  Net
	to   int
	area uint32
	mem  []byte
	what string
	left func(epoch uint32) // is called when all of an epoch's pieces have left mem

	mu    sync.Mutex
	there []bool // by turn
	next  int    // turn
	sent  atomic.Int32
}

func (c *chain) newOutbox(hub *meet.Hub, to int, area uint32, mem []byte, what string) *outbox {
	return &outbox{Division: c.Division, hub: hub, net: c.net, to: to, area: area, mem: mem, what: what, there: make([]bool, len(c.line))}
}

// put says that a piece is in mem. It sends those whose turn has come.
func (o *outbox) put(turn int, epoch uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.there[turn] = true; o.next < len(o.line) && o.there[o.next]; o.next++ {
		o.there[o.next] = false
		x := o.piece(o.line[o.next])
		o.net.Send(o.to, o.area, epoch, 4*x.wire, x.on(o.mem), func(err error) { o.onSent(epoch, err) })
	}
	if o.next == len(o.line) {
		o.next = 0
	}
}

// onSent counts pieces that have left mem. One that could not ends the run.
func (o *outbox) onSent(epoch uint32, err error) {
	if err != nil {
		o.hub.Fail(fmt.Errorf("send %s to rank %d: %w", o.what, o.to, err))
		return
	}
	if int(o.sent.Add(1)) == len(o.line) {
		o.sent.Store(0)
		o.left(epoch)
	}
}
