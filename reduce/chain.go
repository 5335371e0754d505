package reduce

import (
	"fmt"
	"sync/atomic"

	"capgnn/cluster"
	"capgnn/gpu"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// chain is a rank's way to the one behind it and to the one before it.
//
// Method: every rank sends the sums of its parts and all before to the next rank, as one message of all pieces in the
// order of the line, each as soon as it and those before it are there. The last rank sends new weights back in that
// order; a rank between hands them on from the memory in which they arrive. Pieces of neighbours have other borders, as
// their devices differ: a piece is there when the message has come to its end.
type chain struct {
	*Division
	net *link.Net
	// sums and fresh have memory as large as all gradients. Sums arrive in the one, and leave it for the next rank: an
	// owner uploads its elements before it downloads the sum. New weights arrive in the other, or at the last rank
	// leave it.
	sums, fresh *link.Inbox
	// What owners here make leaves mem for an area: sums, at the last rank weights.
	mem  []byte
	to   cluster.Area
	what string
	left atomic.Int32    // pieces of it that have left in a step
	free []chan struct{} // by owner: all of a step has left, so its memory may be written to

	passed   int    // pieces of new weights that have been handed on in a step
	handedOn func() // is called for each when it has left
}

// Join makes the reduction one of several ranks. Sums and new weights are sent to Areas of these numbers. lock is that
// of Lock. Call it once, before the first epoch.
func (r *Reduction) Join(net *link.Net, gradients, weights uint32, lock func(mem []byte) []byte) {
	n, me := r.Bytes(), r.at.Index
	if r.at.alone() || n == 0 {
		return
	}
	c := &chain{Division: r.Division, net: net}
	c.sums = link.NewInbox(r.area(me-1, me, gradients), lock(make([]byte, n)))
	c.fresh = link.NewInbox(r.area(me+1, me, weights), lock(make([]byte, n)))
	c.mem, c.to, c.what = c.sums.Mem, r.area(me, me+1, gradients), "gradients"
	if r.at.last() {
		c.mem, c.to, c.what = c.fresh.Mem, r.area(me, me-1, weights), "weights"
	}
	r.chain = c
	for o := range r.pieces {
		c.free = append(c.free, make(chan struct{}, 1))
		c.free[o] <- struct{}{}
	}
	if me > 0 {
		c.sums.Open(net, nil)
	}
	if !r.at.last() {
		c.fresh.Open(net, c.come)
	}
}

// message returns the number of the messages of an owner's step under way: that of the steps taken.
func (r *Reduction) message(owner int) uint32 { return uint32(r.parts[owner].Owner.steps) }

// await waits for an owner's piece of what a part of another rank sends. It ends the owner's Guard where that is of
// another step.
func (r *Reduction) await(owner, index int, in *link.Inbox, part int, what string) {
	p, step := &r.parts[owner], r.message(owner)
	by := link.Reader{Part: r.number(owner), Owner: r.number(part), What: what, Wrong: func(other uint32) error {
		if other < p.seen {
			return nil
		}
		return fmt.Errorf("receive %s: they are of step %d, here it is step %d: start all ranks from one checkpoint",
			what, other, step)
	}}
	in.Await(by, step, r.pieces[owner][index].end(), p.lane(index))
}

// pass enqueues what follows the sum of a piece over this rank and all before: its way to the next one, or the step.
// In one process steps are up to Finish, and with clipping, which has to see all sums before, at the last rank too.
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

// download enqueues the copy of an owner's piece of a vector to the host memory from which it leaves.
func (r *Reduction) download(owner, index int, from gpu.Vec) {
	c, x := r.chain, &r.pieces[owner][index]
	if index == 0 {
		meet.ReceiveRoom(r.hub, c.free[owner], r.number(owner), r.neighbour(), "room for the next message")
	}
	r.parts[owner].lane(index).Download(x.on(c.mem), from.Buf, 4*gpu.Bytes(from.Off+x.Lo))
}

// send has a piece sent that is in host memory when the lane gets here.
func (r *Reduction) send(owner, index int) {
	c, x, step := r.chain, &r.pieces[owner][index], r.message(owner)
	c.net.Send(r.parts[owner].lane(index), c.to, step, 4*x.wire, x.on(c.mem), c.what, func() {
		if int(c.left.Add(1)) == len(c.line) {
			c.left.Store(0)
			c.gone(step)
		}
	})
}

// neighbour returns the number of the part next to this rank's to which what owners make leads.
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
		r.await(owner, i, r.chain.fresh, len(r.parts), "new weights")
		q.Upload(p.Weights.Buf, 4*gpu.Bytes(p.Weights.Off+x.Lo), x.on(r.chain.fresh.Mem))
		r.renewed(owner, q.Record())
	}
}

// come hands new weights on to the rank before, piece by piece as they arrive.
func (c *chain) come(step uint32, hi int) {
	me := c.at.Index
	for ; c.passed < len(c.line) && me > 0; c.passed++ {
		x := c.piece(c.line[c.passed])
		if x.end() > hi {
			return
		}
		if c.passed == 0 {
			c.handedOn = link.Last(len(c.line), func() { c.tookWeights(step) })
		}
		to := c.area(me, me-1, c.fresh.Number)
		c.net.Pass(c.fresh, x.end(), to, step, 4*x.wire, x.on(c.fresh.Mem), "weights", c.handedOn)
	}
	c.passed = 0
	if me == 0 && hi == len(c.fresh.Mem) {
		c.tookWeights(step)
	}
}

// tookWeights frees the memory of new weights when they have arrived, and left for the rank before. Owners may be
// reading them still: the next ones of a piece follow from its gradients at all parts here, and a part has those when
// it has run all copies of these weights (see step).
func (c *chain) tookWeights(step uint32) { c.net.Taken(c.fresh.Area, step) }

// gone frees the memory of all that has been sent in a step. Sums that came in have been read by then: what was sent
// follows from them.
func (c *chain) gone(step uint32) {
	for o, own := range c.pieces {
		if len(own) > 0 {
			c.free[o] <- struct{}{}
		}
	}
	if c.at.Index > 0 {
		c.net.Taken(c.sums.Area, step)
	}
}
