//go:build mpi && linux

package mpi

import (
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// A stream has so many buffers in each direction, of so many bytes: together two frames of rows, one that travels while another is copied.
const (
	window = 4
	chunk  = 128 << 10
)

// stream is a connection with another rank. Its user reads and writes; the owner of the World posts and completes. Buffers are numbered, those of
// sends and of receives apart.
type stream struct {
	world      *World
	peer       int
	send, recv [window]block

	mu      sync.Mutex
	free    []int            // buffers of sends that may be filled
	ready   []filled         // that wait to be sent, in order
	flying  int              // sends that are under way
	empty   []int            // buffers of receives that are to be posted
	posted  []int            // that are under way, in order
	whole   [window]int      // bytes of a message that has come, -1: it has not
	got     []filled         // messages that are to be read, in order
	off     int              // bytes of the first that were read
	err     error            // why the stream has ended
	until   [2]time.Time     // deadlines of reads and writes
	signals [2]chan struct{} // something to read, or room to write; 1 slot
	over    chan struct{}    // closed with err

	reads, writes sync.Mutex // one user at a time

	// Of the owner: what it took from empty and ready the last time.
	spareEmpty []int
	spareReady []filled
	broken     error // of a send: nothing is sent behind what is lost
}

// filled is a buffer with bytes of a message.
type filled struct{ slot, n int }

const reading, writing = 0, 1

func newStream(w *World, peer int, mem block) *stream {
	s := &stream{world: w, peer: peer, over: make(chan struct{})}
	for i := range window {
		s.send[i], mem = mem[:chunk:chunk], mem[chunk:]
		s.recv[i], mem = mem[:chunk:chunk], mem[chunk:]
		s.free, s.empty, s.whole[i] = append(s.free, i), append(s.empty, i), -1
	}
	s.signals = [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
	return s
}

// Write copies b into buffers of messages, as there is room.
func (s *stream) Write(b []byte) (int, error) {
	s.writes.Lock()
	defer s.writes.Unlock()
	written := 0
	for written < len(b) {
		f, err := s.room()
		if err != nil {
			return written, err
		}
		n := copy(s.send[f.slot][f.n:], b[written:])
		written += n
		s.mu.Lock()
		s.ready = append(s.ready, filled{f.slot, f.n + n})
		s.mu.Unlock()
		s.world.wakeUp()
	}
	return written, nil
}

// room returns a buffer that has room, behind the bytes that it has: the last that still waits, or a new one.
func (s *stream) room() (filled, error) {
	for {
		s.mu.Lock()
		if s.err != nil {
			s.mu.Unlock()
			return filled{}, s.err
		}
		if k := len(s.ready) - 1; k >= 0 && s.ready[k].n < chunk {
			f := s.ready[k]
			s.ready = s.ready[:k]
			s.mu.Unlock()
			return f, nil
		}
		if k := len(s.free) - 1; k >= 0 {
			f := filled{s.free[k], 0}
			s.free = s.free[:k]
			s.mu.Unlock()
			return f, nil
		}
		s.mu.Unlock()
		if err := s.wait(writing); err != nil {
			return filled{}, err
		}
	}
}

// Read copies the next bytes that have come.
func (s *stream) Read(b []byte) (int, error) {
	s.reads.Lock()
	defer s.reads.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	for {
		s.mu.Lock()
		if s.err != nil {
			s.mu.Unlock()
			return 0, s.err
		}
		if len(s.got) > 0 {
			f, off := s.got[0], s.off
			s.mu.Unlock()
			n := copy(b, s.recv[f.slot][off:f.n])
			s.consume(f, off+n)
			return n, nil
		}
		s.mu.Unlock()
		if err := s.wait(reading); err != nil {
			return 0, err
		}
	}
}

// consume frees the buffer of a message that was read to its end.
func (s *stream) consume(f filled, off int) {
	s.mu.Lock()
	s.off = off
	if off == f.n {
		s.off, s.got, s.empty = 0, append(s.got[:0], s.got[1:]...), append(s.empty, f.slot)
	}
	s.mu.Unlock()
	if off == f.n {
		s.world.wakeUp()
	}
}

// wait waits for a signal, the deadline, or the end.
func (s *stream) wait(side int) error {
	s.mu.Lock()
	until := s.until[side]
	s.mu.Unlock()
	var late <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-s.signals[side]:
	case <-s.over:
	case <-late:
		return os.ErrDeadlineExceeded
	}
	return nil
}

func (s *stream) signal(side int) {
	select {
	case s.signals[side] <- struct{}{}:
	default:
	}
}

// end ends the stream for its user. What was written is still sent.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		close(s.over)
	}
}

// Close ends the stream at this side; the other side does not notice.
func (s *stream) Close() error {
	s.end(net.ErrClosed)
	return nil
}

// post posts what may be posted; of the owner. It reports whether that was anything.
func (s *stream) post(r *requests, first int) bool {
	s.mu.Lock()
	empty, ready := s.empty, s.ready
	s.empty, s.ready = s.spareEmpty[:0], s.spareReady[:0]
	s.spareEmpty, s.spareReady = empty, ready
	s.flying += len(ready)
	s.posted = append(s.posted, empty...)
	s.mu.Unlock()
	for _, slot := range empty {
		if err := r.receive(first+slot, s.recv[slot], s.peer); err != nil {
			s.end(err)
		}
	}
	for _, f := range ready {
		if s.broken == nil {
			s.broken = r.send(first+window+f.slot, s.send[f.slot][:f.n], s.peer)
		}
		if s.broken != nil {
			s.end(s.broken)
			s.complete(done{i: window + f.slot})
		}
	}
	return len(empty)+len(ready) > 0
}

// complete takes a request that is done, numbered within the stream; of the owner.
func (s *stream) complete(d done) {
	if d.err != nil {
		if d.i >= window {
			s.broken = d.err
		}
		s.end(d.err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot := d.i - window; slot >= 0 {
		s.flying--
		s.free = append(s.free, slot)
		s.signal(writing)
		return
	}
	s.whole[d.i] = d.bytes
	for len(s.posted) > 0 && s.whole[s.posted[0]] >= 0 {
		slot := s.posted[0]
		s.posted = append(s.posted[:0], s.posted[1:]...)
		s.got = append(s.got, filled{slot, s.whole[slot]})
		s.whole[slot] = -1
		s.signal(reading)
	}
}

// idle reports whether all that was written has been sent.
func (s *stream) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready) == 0 && s.flying == 0
}

// SetDeadline, SetReadDeadline and SetWriteDeadline hold from the next call on.
func (s *stream) SetDeadline(t time.Time) error { return s.deadlines(t, reading, writing) }

// SetReadDeadline says until when the next reads wait.
func (s *stream) SetReadDeadline(t time.Time) error { return s.deadlines(t, reading) }

// SetWriteDeadline says until when the next writes wait.
func (s *stream) SetWriteDeadline(t time.Time) error { return s.deadlines(t, writing) }

func (s *stream) deadlines(t time.Time, sides ...int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, side := range sides {
		s.until[side] = t
	}
	return nil
}

// address is a rank as a net.Addr.
type address int

func (a address) Network() string { return "mpi" }
func (a address) String() string  { return fmt.Sprintf("rank %d", int(a)) }

// LocalAddr is this rank, RemoteAddr the other.
func (s *stream) LocalAddr() net.Addr { return address(s.world.rank) }

// RemoteAddr is the other rank.
func (s *stream) RemoteAddr() net.Addr { return address(s.peer) }
