package tcp

import (
	"errors"
	"fmt"

	"capgnn/cluster"
)

// outbound is an area that this rank fills at a peer. A message is all pieces of one epoch; the next message begins when the reader has
// taken the one before. The link's lock guards it.
type outbound struct {
	area     cluster.Area
	open     bool      // the reader has registered its memory
	taken    bool      // messages[0] was taken
	messages []message // the last one begun, and those that wait; none before the first Send
	size     int       // bytes of the first piece that were written
	queued   bool      // it is in the ring
}

type message struct {
	epoch  uint32
	end    int     // bytes that were given to Send
	pieces []piece // that are to be written
}

// piece is one call of Send.
type piece struct {
	off  int
	b    []byte
	sent func(error)
}

// Send copies b to [off, off+len(b)) of an area at another rank, as a piece of the message of this epoch. It never blocks: a message
// waits here until the reader has taken the one before it. Offsets of a message ascend from 0 without gaps; epochs of an area
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

// add puts a piece where it belongs: to the last message, or to a new one.
func (o *outbound) add(l *link, epoch uint32, p piece) error {
	if n := len(o.messages); n == 0 || epoch > o.messages[n-1].epoch {
		o.messages = append(o.messages, message{epoch: epoch})
		o.proceed()
	} else if epoch == o.messages[n-1].epoch && len(p.b) == 0 {
		later(p.sent, nil) // all of nothing was sent
		return nil
	}
	m := &o.messages[len(o.messages)-1]
	switch {
	case epoch < m.epoch:
		panic(fmt.Sprintf("tcp: Send of epoch %d in area %d after epoch %d", epoch, o.area.Number, m.epoch))
	case o.taken:
		return protocolError(fmt.Errorf("it took epoch %d of area %d before all of it was sent", epoch, o.area.Number))
	case p.off != m.end:
		panic(fmt.Sprintf("tcp: Send to byte %d of area %d, of which %d were sent", p.off, o.area.Number, m.end))
	}
	m.end += len(p.b)
	m.pieces = append(m.pieces, p)
	o.queue(l)
	return nil
}

// proceed goes on to the next message when the one before was taken.
func (o *outbound) proceed() {
	if o.taken && len(o.messages) > 1 {
		o.messages = append(o.messages[:0], o.messages[1:]...)
		o.taken = false
	}
}

// queue puts the area into the ring if pieces of it may go.
func (o *outbound) queue(l *link) {
	if o.open && !o.queued && len(o.messages) > 0 && len(o.messages[0].pieces) > 0 {
		o.queued = true
		l.ring = append(l.ring, o)
	}
}

// nextRows takes a frame from the first area of the ring, and puts the area at the end if there is more.
func (l *link) nextRows() frame {
	o := l.ring[0]
	l.ring[0] = nil
	l.ring = l.ring[1:]
	m := &o.messages[0]
	p := m.pieces[0]
	n := min(len(p.b)-o.size, cluster.MaxFrame)
	f := frame{
		head: cluster.Header{Kind: cluster.Rows, Area: o.area.Number, Epoch: m.epoch, Offset: uint64(p.off + o.size)},
		body: p.b[o.size : o.size+n],
	}
	if o.size += n; o.size == len(p.b) {
		f.sent, o.size = p.sent, 0
		m.pieces[0] = piece{}
		m.pieces = m.pieces[1:]
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
	case o.taken || len(o.messages) == 0 || h.Epoch != o.messages[0].epoch || len(o.messages[0].pieces) > 0:
		return protocolError(fmt.Errorf("it took epoch %d of area %d, which was not sent", h.Epoch, h.Area))
	}
	o.taken = true
	o.proceed()
	o.queue(l)
	l.wakeUp()
	return nil
}
