package tcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"capgnn/cluster"
)

// maxMessage bounds what Gather and Broadcast take from one rank. Memory grows with what has arrived, not with what is announced.
const maxMessage = 8 << 30

// stream is the row of messages in both directions of a control connection. A message brings its first 64 KiB at once; what is beyond, and
// the message after it, waits until the reader has asked. So a reader holds at most one message that it does not want yet.
type stream struct {
	mu    sync.Mutex
	out   *uint32       // tag of the message that the peer has not asked for yet
	asked chan struct{} // the peer has asked for it; 1 slot
	in    *bulk         // begun by the peer and not whole, or not asked for
	begun chan *bulk    // for the consumer; 1 slot
}

type bulk struct {
	tag   uint32
	total int
	sum   [sha256.Size]byte
	data  []byte
	asked bool
	whole chan struct{} // closed when all bytes are there
}

func (s *stream) init() {
	s.asked = make(chan struct{}, 1)
	s.asked <- struct{}{} // nothing is under way
	s.begun = make(chan *bulk, 1)
}

// begin, more and ask handle the frames of these kinds.
func (l *link) begin(h cluster.Header) error {
	if h.Length < sha256.Size || h.Offset > maxMessage || h.Length != sha256.Size+uint32(min(h.Offset, cluster.MaxFirst)) {
		return protocolError(fmt.Errorf("it began a message of %d bytes with %d", h.Offset, h.Length))
	}
	s := &l.stream
	s.mu.Lock()
	full := s.in != nil
	s.mu.Unlock()
	if full {
		return protocolError(fmt.Errorf("it began message %d before the one before it was asked for", h.Area))
	}
	first, err := l.text(h)
	if err != nil {
		return err
	}
	m := &bulk{tag: h.Area, total: int(h.Offset), sum: [sha256.Size]byte(first), data: first[sha256.Size:], whole: make(chan struct{})}
	if len(m.data) == m.total {
		close(m.whole)
	}
	s.mu.Lock()
	s.in = m
	s.mu.Unlock()
	s.begun <- m // has room: the consumer took the one before, else s.in were not nil
	return nil
}

func (l *link) more(h cluster.Header) error {
	s := &l.stream
	s.mu.Lock()
	m := s.in
	asked := m != nil && m.asked
	s.mu.Unlock()
	if !asked || h.Area != m.tag || int(h.Length) > m.total-len(m.data) || h.Length == 0 {
		return protocolError(fmt.Errorf("it sent %d bytes of message %d, which were not asked for", h.Length, h.Area))
	}
	at := len(m.data)
	m.data = grow(m.data, int(h.Length), m.total)[:at+int(h.Length)]
	if err := l.fill(m.data[at:]); err != nil {
		return err
	}
	if len(m.data) == m.total {
		s.mu.Lock()
		s.in = nil
		s.mu.Unlock()
		close(m.whole)
	}
	return nil
}

func (l *link) ask(h cluster.Header) error {
	s := &l.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil || *s.out != h.Area {
		return protocolError(fmt.Errorf("it asked for message %d, which was not begun", h.Area))
	}
	s.out = nil
	s.asked <- struct{}{} // has room: one message at a time
	return nil
}

// send sends a message. It returns when the bytes are with the system; of a message of up to 64 KiB when they are enqueued.
func (g *Group) send(ctx context.Context, l *link, tag uint32, b []byte, sum [sha256.Size]byte) error {
	s := &l.stream
	if err := g.await(ctx, l, s.asked); err != nil { // the message before this one; the first has a token
		return err
	}
	k := min(len(b), cluster.MaxFirst)
	s.mu.Lock()
	s.out = &tag
	s.mu.Unlock()
	l.push(frame{head: cluster.Header{Kind: cluster.Begin, Area: tag, Offset: uint64(len(b))}, body: append(sum[:], b[:k]...)})
	if k == len(b) {
		return nil
	}
	if err := g.await(ctx, l, s.asked); err != nil {
		return err
	}
	written := make(chan error, 1)
	for at := k; at < len(b); {
		n := min(len(b)-at, cluster.MaxFrame)
		l.push(frame{head: cluster.Header{Kind: cluster.More, Area: tag}, body: b[at : at+n], sent: func(err error) { written <- err }})
		// The bytes are the caller's: they stay in use until they are written, also when ctx ends.
		if err := <-written; err != nil {
			return g.ended(err)
		}
		at += n
	}
	s.asked <- struct{}{} // the token for the next message
	return nil
}

// receive returns the next message of a peer, which has to have this tag.
func (g *Group) receive(ctx context.Context, l *link, tag uint32) ([]byte, error) {
	s := &l.stream
	var m *bulk
	select {
	case m = <-s.begun:
	default:
		if err := g.awaitMessage(ctx, l, tag, &m); err != nil {
			return nil, err
		}
	}
	if m.tag != tag {
		return nil, g.protocolFault(l, fmt.Errorf("it sent message %d where message %d was due", m.tag, tag))
	}
	s.mu.Lock()
	m.asked = true
	if len(m.data) == m.total {
		s.in = nil
	}
	s.mu.Unlock()
	l.pushKind(cluster.Ask, tag, 0)
	if err := g.await(ctx, l, m.whole); err != nil {
		return nil, err
	}
	if sha256.Sum256(m.data) != m.sum {
		return nil, g.protocolFault(l, fmt.Errorf("message %d arrived with another SHA-256", tag))
	}
	return m.data, nil
}

func (g *Group) awaitMessage(ctx context.Context, l *link, tag uint32, m **bulk) error {
	select {
	case *m = <-l.stream.begun:
		return nil
	case <-l.left:
		select { // it may have sent before it left
		case *m = <-l.stream.begun:
			return nil
		default:
			return g.protocolFault(l, fmt.Errorf("it left before message %d", tag))
		}
	case <-ctx.Done():
		return ctx.Err()
	case <-g.done:
		return g.err
	}
}

// await waits for c, for the end of the group, or of ctx.
func (g *Group) await(ctx context.Context, l *link, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-l.left:
		select {
		case <-c:
			return nil
		default:
			return g.protocolFault(l, errors.New("it left while a message was under way"))
		}
	case <-ctx.Done():
		return ctx.Err()
	case <-g.done:
		return g.err
	}
}

// ended waits for the verdict that follows from an error of a connection.
func (g *Group) ended(err error) error {
	<-g.done
	if g.err != nil {
		return g.err
	}
	return err
}

// protocolFault reports what a peer did wrong, and returns the verdict.
func (g *Group) protocolFault(l *link, err error) error {
	g.linkFault(l, protocolError(err))
	return g.ended(err)
}

// Gather brings a message of every rank to rank 0, which gets them by rank, its own among them; the others get nil. All ranks call Gather and
// Broadcast in the same order with the same tags, one at a time; another order ends the group. A context that ends leaves a call half
// done: the group is to be ended then.
func (g *Group) Gather(ctx context.Context, tag uint32, b []byte) ([][]byte, error) {
	g.collective.Lock()
	defer g.collective.Unlock()
	if err := g.check(ctx, b); err != nil {
		return nil, err
	}
	if g.o.Rank != 0 {
		return nil, g.send(ctx, g.control[0], tag, b, sha256.Sum256(b))
	}
	out := make([][]byte, g.o.Ranks)
	out[0] = b
	for r := 1; r < g.o.Ranks; r++ {
		var err error
		if out[r], err = g.receive(ctx, g.control[r], tag); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Broadcast brings a message of rank 0 to every rank; b of the others is ignored.
func (g *Group) Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error) {
	g.collective.Lock()
	defer g.collective.Unlock()
	if g.o.Rank != 0 {
		if err := g.check(ctx, nil); err != nil {
			return nil, err
		}
		return g.receive(ctx, g.control[0], tag)
	}
	if err := g.check(ctx, b); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	errs := make([]error, g.o.Ranks)
	var wait sync.WaitGroup // each rank gets its copy as fast as it reads; all end before this returns
	for r := 1; r < g.o.Ranks; r++ {
		wait.Go(func() { errs[r] = g.send(ctx, g.control[r], tag, b, sum) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (g *Group) check(ctx context.Context, b []byte) error {
	if len(b) > maxMessage {
		return fmt.Errorf("a message of %d bytes to other ranks: at most %d are possible", len(b), maxMessage)
	}
	select {
	case <-g.done:
		return g.err
	default:
		return ctx.Err()
	}
}
