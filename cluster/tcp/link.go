package tcp

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"capgnn/cluster"
)

// link is a connection to another rank on which frames travel: one goroutine reads, one writes. Frames without rows go first and in order;
// rows go a frame of each area in turn.
type link struct {
	peer    Member
	conn    net.Conn // what is read and written: TLS, or raw
	raw     net.Conn // what is closed
	sum     bool     // no TLS: frames carry a checksum
	beat    time.Duration
	silence time.Duration
	in      *bufio.Reader
	head    [cluster.HeaderBytes]byte // of the frame being read
	write   [cluster.HeaderBytes]byte // of the frame being written
	first   []byte                    // TLS: header and first bytes of a frame, in one record

	mu     sync.Mutex
	urgent []frame
	ring   []*outbound          // areas with pieces that may go
	out    map[uint32]*outbound // areas that this rank fills at the peer; set once
	bye    bool                 // this rank said, or will say, that nothing more comes
	said   bool                 // Bye was written
	err    error                // why the link is shut; sent of everything later

	wake   chan struct{} // something to write; 1 slot
	quit   chan struct{} // closed with the link
	left   chan struct{} // closed when the peer has said Bye
	parted chan struct{} // closed when this rank has
	dead   chan struct{} // closed when the reader has ended

	inbound inbounds
	stream  stream

	counts counts
}

type counts struct{ sent, sentFrames, received, receivedFrames atomic.Int64 }

// frame is what the writer sends: a header, and bytes that stay untouched until sent is called.
type frame struct {
	head cluster.Header
	body []byte
	sent func(error) // nil = nobody asks
}

func newLink(peer Member, conn net.Conn, raw net.Conn, o *Options) *link {
	_, secure := conn.(*tls.Conn)
	l := &link{
		peer: peer, conn: conn, raw: raw, sum: !secure, beat: o.beat(), silence: o.PeerTimeout,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), left: make(chan struct{}), parted: make(chan struct{}), dead: make(chan struct{}),
	}
	l.in = bufio.NewReaderSize(&patient{Conn: conn, silence: o.PeerTimeout}, 4<<10)
	l.stream.init()
	if secure {
		l.first = make([]byte, 16<<10)
	}
	return l
}

// patient is a connection whose reads end when nothing comes for the time given, or up to slack more: rows come in thousands of reads a
// second, and each need not move the deadline.
type patient struct {
	net.Conn
	silence time.Duration
	renew   time.Time // when the deadline is to be moved
}

func (p *patient) Read(b []byte) (int, error) {
	if now := time.Now(); now.After(p.renew) {
		slack := min(p.silence/8, 250*time.Millisecond)
		if err := p.SetReadDeadline(now.Add(p.silence + slack)); err != nil {
			return 0, err
		}
		p.renew = now.Add(slack)
	}
	return p.Conn.Read(b)
}

// push enqueues a frame. It never blocks.
func (l *link) push(f frame) {
	l.mu.Lock()
	err := l.err
	if err == nil {
		l.urgent = append(l.urgent, f)
	}
	l.mu.Unlock()
	if err != nil {
		later(f.sent, err)
		return
	}
	l.wakeUp()
}

func (l *link) pushKind(kind cluster.Kind, area, epoch uint32) {
	l.push(frame{head: cluster.Header{Kind: kind, Area: area, Epoch: epoch}})
}

func (l *link) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// later calls sent after its link has ended. Callers of Send may hold locks that sent takes, so it has a goroutine of its own,
// which ends with it.
func later(sent func(error), err error) {
	if sent != nil {
		go sent(err)
	}
}

// next returns the frame that goes now.
func (l *link) next() (frame, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.urgent) > 0 {
		f := l.urgent[0]
		l.urgent[0] = frame{}
		l.urgent = l.urgent[1:]
		return f, true
	}
	if len(l.ring) > 0 {
		return l.nextRows(), true
	}
	if l.bye && !l.said {
		l.said = true
		return frame{head: cluster.Header{Kind: cluster.Bye}, sent: func(error) { close(l.parted) }}, true
	}
	return frame{}, false
}

// writing sends frames until the link is shut or fails.
func (l *link) writing() error {
	beat := time.NewTicker(l.beat)
	defer beat.Stop()
	for {
		f, ok := l.next()
		if !ok {
			select {
			case <-l.wake:
				continue
			case <-beat.C:
				f = frame{head: cluster.Header{Kind: cluster.Beat}}
			case <-l.quit:
				return nil
			}
		}
		if err := l.send(f); err != nil {
			// What was to be sent is answered with the verdict, not with what follows from it.
			l.push(frame{sent: f.sent})
			return err
		}
		if f.sent != nil {
			f.sent(nil)
		}
	}
}

// send writes one frame: without TLS by one system call and without a copy; with TLS the header shares a record with the first bytes.
func (l *link) send(f frame) error {
	f.head.Length = uint32(len(f.body))
	f.head.Put(&l.write)
	if err := l.conn.SetWriteDeadline(time.Now().Add(l.silence)); err != nil {
		return err
	}
	var err error
	if l.sum {
		cluster.PutSum(&l.write, f.body)
		buffers := net.Buffers{l.write[:], f.body}
		if len(f.body) == 0 {
			buffers = buffers[:1]
		}
		_, err = buffers.WriteTo(l.conn)
	} else {
		n := copy(l.first, l.write[:])
		k := copy(l.first[n:], f.body)
		_, err = l.conn.Write(l.first[:n+k])
		if err == nil && k < len(f.body) {
			_, err = l.conn.Write(f.body[k:])
		}
	}
	l.counts.sentFrames.Add(int64(cluster.HeaderBytes + len(f.body)))
	if f.head.Kind == cluster.Rows {
		l.counts.sent.Add(int64(len(f.body)))
	}
	return err
}

// reading passes every frame to handle, which calls fill once.
func (l *link) reading(handle func(h cluster.Header) error) error {
	for {
		if _, err := io.ReadFull(l.in, l.head[:]); err != nil {
			return err
		}
		h, err := cluster.ParseHeader(&l.head)
		if err != nil {
			return protocolError(err)
		}
		l.counts.receivedFrames.Add(int64(cluster.HeaderBytes) + int64(h.Length))
		switch h.Kind {
		case cluster.Beat:
			err = l.fill(nil)
		case cluster.Bye:
			if err = l.fill(nil); err == nil {
				err = l.peerLeft()
			}
		default:
			if l.hasLeft() && h.Kind == cluster.Rows {
				return protocolError(errors.New("rows came after the last"))
			}
			err = handle(h)
		}
		if err != nil {
			return err
		}
	}
}

func (l *link) hasLeft() bool {
	select {
	case <-l.left:
		return true
	default:
		return false
	}
}

func (l *link) isDead() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

func (l *link) peerLeft() error {
	if l.hasLeft() {
		return protocolError(errors.New("a rank said goodbye twice"))
	}
	close(l.left)
	return nil
}

// fill reads what follows the header into b, which has that length, and checks the sum. What has just been read is in the processor's cache:
// it is summed then, not when the frame is whole.
func (l *link) fill(b []byte) error {
	sum := uint32(0)
	if l.sum {
		sum = cluster.SumHeader(&l.head)
	}
	for len(b) > 0 {
		n, err := l.in.Read(b)
		if n == 0 && err != nil {
			return err
		}
		if l.sum {
			sum = cluster.SumMore(sum, b[:n])
		}
		b = b[n:]
	}
	return l.check(sum)
}

// check compares a sum with that of the header.
func (l *link) check(want uint32) error {
	h, err := cluster.ParseHeader(&l.head)
	if err == nil && h.Sum != want {
		err = fmt.Errorf("the checksum of a frame is %08x, its bytes give %08x: the network changed them", h.Sum, want)
	}
	if err != nil {
		return protocolError(err)
	}
	return nil
}

// text reads what follows the header into memory that grows as bytes arrive: a length that is announced allocates nothing.
func (l *link) text(h cluster.Header) ([]byte, error) {
	b := make([]byte, 0, min(h.Length, 4<<10))
	for uint32(len(b)) < h.Length {
		b = grow(b, 4<<10, int(h.Length))
		at := len(b)
		b = b[:min(cap(b), int(h.Length))]
		if _, err := io.ReadFull(l.in, b[at:]); err != nil {
			return nil, err
		}
	}
	want := uint32(0)
	if l.sum {
		want = cluster.Sum(&l.head, b)
	}
	return b, l.check(want)
}

// grow makes room for n more bytes: at least doubled, at most of this size.
func grow(b []byte, n, most int) []byte {
	if cap(b)-len(b) >= n || cap(b) >= most {
		return b
	}
	c := make([]byte, len(b), min(most, max(2*cap(b), len(b)+n)))
	copy(c, b)
	return c
}

// shut closes the connection, ends both goroutines, and answers all that was not sent.
func (l *link) shut(err error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = err
	waiting := l.urgent
	for _, o := range l.out {
		for _, m := range o.messages {
			for _, p := range m.pieces {
				waiting = append(waiting, frame{sent: p.sent})
			}
		}
		o.messages = nil
	}
	l.urgent, l.ring = nil, nil
	l.mu.Unlock()
	close(l.quit)
	l.raw.Close()
	for _, f := range waiting {
		later(f.sent, err)
	}
}

// sayBye lets Bye follow what is enqueued.
func (l *link) sayBye() {
	l.mu.Lock()
	l.bye = true
	l.mu.Unlock()
	l.wakeUp()
}

// violation is a fault of the peer: it sent what no rank sends.
type violation struct{ err error }

func (v violation) Error() string { return v.err.Error() }

func protocolError(err error) error { return violation{err} }

// isClosed says that the other side, or this one, has closed the connection: its reader has the last word.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// cause says in words why a link is lost.
func cause(err error, silence time.Duration) string {
	switch {
	case isClosed(err):
		return "connection closed"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no sign of life for %v", silence)
	case errors.Is(err, syscall.ETIMEDOUT):
		return fmt.Sprintf("no acknowledgement for %v", silence)
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error() // without the addresses: the line names the rank
	}
	return line(err.Error(), 200)
}
