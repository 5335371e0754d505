package tcp

import (
	"errors"
	"fmt"

	"capgnn/cluster"
)

// outbound is an area that this rank fills at a peer. A message is all pieces of one epoch; the next message begins when the reader has
// taken the one before. The link's lock guards it.
type outbound struct {
	area   cluster.Area
	open   bool    // the reader has registered its memory
	idle   bool    // no message is under way
	begun  bool    // there was a message
	epoch  uint32  // of the last message begun
	end    int     // bytes of it that were given to Send
	pieces []piece // of it that are to be written
	size   int     // bytes of the first piece that were written
	queued bool    // it is in the ring

	next      []piece // the message that waits until the one under way is taken
	nextEpoch uint32
	nextEnd   int
}

// piece is one call of Send.
type piece struct {
	off  int
	b    []byte
	sent func(error)
}

// Send copies b to [off, off+len(b)) of an area at another rank, as a piece of the message of this epoch. It never blocks: a message whose
// area the reader has not yet taken waits here, one for each area. Offsets of a message ascend from 0 without gaps; epochs of an area
// ascend. b stays untouched until sent is called, with nil when the bytes are with the system, or with what ended the group.
func (g *Group) Send(to int, area, epoch uint32, off int, b []byte, sent func(error)) {
	l := g.link(to)
	err := l.enqueue(area, epoch, piece{off, b, sent})
	if err == nil {
		l.wakeUp()
		return
	}
	later(sent, err)
	var v violation
	if errors.As(err, &v) {
		g.linkFault(l, err)
	}
}

func (l *link) enqueue(area, epoch uint32, p piece) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	o := l.out[area]
	if o == nil || p.off < 0 || p.off+len(p.b) > o.area.Bytes {
		panic(fmt.Sprintf("tcp: Send of bytes %d to %d of area %d to rank %d, which is not in the table", p.off, p.off+len(p.b), area, l.peer.Rank))
	}
	return o.add(l, epoch, p)
}

// add puts a piece where it belongs: to the message under way, or to the one that waits.
func (o *outbound) add(l *link, epoch uint32, p piece) error {
	at, message, first := &o.end, &o.pieces, false
	switch {
	case o.begun && epoch == o.epoch && o.idle:
		return protocolError(fmt.Errorf("it took epoch %d of area %d before all of it was sent", epoch, o.area.Number))
	case o.begun && epoch == o.epoch:
	case o.idle && (!o.begun || epoch > o.epoch):
		o.begin(epoch)
		first = true
	case o.next != nil && epoch == o.nextEpoch:
		at, message = &o.nextEnd, &o.next
	case o.next == nil && !o.idle && epoch > o.epoch:
		o.nextEpoch, o.nextEnd = epoch, 0
		at, message, first = &o.nextEnd, &o.next, true
	default:
		panic(fmt.Sprintf("tcp: Send of epoch %d in area %d, which is at epoch %d, while epoch %d waits", epoch, o.area.Number, o.epoch, o.nextEpoch))
	}
	if p.off != *at {
		panic(fmt.Sprintf("tcp: Send to byte %d of area %d, of which %d were sent", p.off, o.area.Number, *at))
	}
	if len(p.b) == 0 && !first {
		later(p.sent, nil)
		return nil
	}
	*at += len(p.b)
	*message = append(*message, p)
	o.queue(l)
	return nil
}

func (o *outbound) begin(epoch uint32) {
	o.epoch, o.end, o.begun, o.idle = epoch, 0, true, false
}

// queue puts the area into the ring if pieces of it may go.
func (o *outbound) queue(l *link) {
	if o.open && !o.queued && len(o.pieces) > 0 {
		o.queued = true
		l.ring = append(l.ring, o)
	}
}

// nextRows takes a frame from the first area of the ring, and puts the area at the end if there is more.
func (l *link) nextRows() frame {
	o := l.ring[0]
	l.ring[0] = nil
	l.ring = l.ring[1:]
	p := o.pieces[0]
	n := min(len(p.b)-o.size, cluster.MaxFrame)
	f := frame{
		head: cluster.Header{Kind: cluster.Rows, Area: o.area.Number, Epoch: o.epoch, Offset: uint64(p.off + o.size)},
		body: p.b[o.size : o.size+n],
	}
	if o.size += n; o.size == len(p.b) {
		f.sent, o.size = p.sent, 0
		o.pieces[0] = piece{}
		o.pieces = o.pieces[1:]
	}
	o.queued = false
	o.queue(l)
	return f
}

// opened and taken are what the reader says of an area that this rank fills. What does not fit is the reader's fault.
func (l *link) opened(h cluster.Header) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.out[h.Area]
	switch {
	case o == nil:
		return protocolError(fmt.Errorf("it opened area %d, which is not in the table", h.Area))
	case o.open:
		return protocolError(fmt.Errorf("it opened area %d twice", h.Area))
	case h.Offset != uint64(o.area.Bytes):
		return protocolError(fmt.Errorf("it opened area %d with %d bytes in place of %d", h.Area, h.Offset, o.area.Bytes))
	}
	o.open = true
	o.queue(l)
	l.wakeUp()
	return nil
}

func (l *link) taken(h cluster.Header) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.out[h.Area]
	switch {
	case o == nil:
		return protocolError(fmt.Errorf("it took area %d, which is not in the table", h.Area))
	case o.idle || h.Epoch != o.epoch || len(o.pieces) > 0:
		return protocolError(fmt.Errorf("it took epoch %d of area %d, which was not sent", h.Epoch, h.Area))
	}
	o.idle = true
	if o.next != nil {
		o.begin(o.nextEpoch)
		o.end, o.pieces, o.next = o.nextEnd, o.next, nil
		o.queue(l)
	}
	l.wakeUp()
	return nil
}
