package reduce

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// network is a transport for all ranks of one process. Every area has a goroutine that copies its messages in pieces of any size after any time.
type network struct {
	t       *testing.T
	most    time.Duration // a piece takes up to that
	lateAck bool          // sent is called some time after the whole message was copied, not after the piece

	mu    sync.Mutex
	rng   *rand.Rand
	ways  map[way]*road
	bytes map[way]int
	cut   map[way]error // no message leaves
	lost  map[way]bool  // pieces vanish
}

type way struct {
	from, to int
	area     uint32
}

// road is an area: what was sent to it, and where that goes.
type road struct {
	letters chan letter
	into    []byte
	arrived func(epoch uint32, hi int)
	open    chan struct{} // closed: Expect was called
	taken   chan uint32   // epochs
	under   int64         // epoch of the message under way; -1: none
	next    int           // offset of the next piece
}

type letter struct {
	epoch uint32
	off   int
	b     []byte
	was   []byte // b when it was handed over
	sent  func(error)
}

func newNetwork(t *testing.T, seed uint64, most time.Duration) *network {
	return &network{t: t, most: most, lateAck: seed%2 == 1, rng: rand.New(rand.NewPCG(seed, 11)), ways: map[way]*road{}, bytes: map[way]int{},
		cut: map[way]error{}, lost: map[way]bool{}}
}

// port is the network as one rank sees it.
type port struct {
	*network
	rank, ranks int
}

func (p port) Rank() int { return p.rank }

func (p port) Ranks() int { return p.ranks }

func (n *network) draw(limit int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rng.IntN(limit)
}

// pause takes any time.
func (n *network) pause() {
	if n.most > 0 && n.draw(3) == 0 {
		time.Sleep(time.Duration(n.draw(int(n.most))))
	}
}

// road returns that of an area. Its goroutine ends with the test.
func (n *network) road(w way) *road {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.ways[w]; r != nil {
		return r
	}
	r := &road{letters: make(chan letter, 1<<12), open: make(chan struct{}), taken: make(chan uint32, 1), under: -1}
	n.ways[w] = r
	ctx := n.t.Context()
	var over sync.WaitGroup
	over.Go(func() {
		var acks []letter
		for {
			select {
			case <-ctx.Done():
				return
			case l := <-r.letters:
				n.mu.Lock()
				lost := n.lost[w]
				n.mu.Unlock()
				if !lost && !n.carry(w, r, l, &acks) {
					return
				}
			}
		}
	})
	n.t.Cleanup(over.Wait)
	return r
}

// carry copies a piece, when the message before it was taken.
func (n *network) carry(w way, r *road, l letter, acks *[]letter) bool {
	ctx := n.t.Context()
	select {
	case <-r.open:
	case <-ctx.Done():
		return false
	}
	if r.under != int64(l.epoch) {
		if r.under >= 0 {
			select {
			case e := <-r.taken:
				if int64(e) != r.under {
					n.t.Errorf("%v: epoch %d was taken, under way is %d", w, e, r.under)
				}
			case <-ctx.Done():
				return false
			}
		}
		r.under, r.next = int64(l.epoch), 0
	}
	if l.off != r.next {
		n.t.Errorf("%v: a piece at byte %d, want %d", w, l.off, r.next)
	}
	n.mu.Lock()
	n.bytes[w] += len(l.b)
	n.mu.Unlock()
	for lo := 0; lo < len(l.b); {
		n.pause()
		hi := min(len(l.b), lo+1+n.draw(2*len(l.b)))
		copy(r.into[l.off+lo:], l.b[lo:hi])
		r.arrived(l.epoch, l.off+hi)
		lo = hi
	}
	r.next = l.off + len(l.b)
	*acks = append(*acks, l)
	if !n.lateAck {
		n.acknowledge(w, acks)
	} else if r.next == len(r.into) { // whoever reads it may be long about it
		time.Sleep(n.most)
		n.acknowledge(w, acks)
	}
	return true
}

// acknowledge says that pieces have left, whose memory must be as it was.
func (n *network) acknowledge(w way, acks *[]letter) {
	for _, l := range *acks {
		if !bytes.Equal(l.b, l.was) {
			n.t.Errorf("%v: bytes of epoch %d changed before they were sent", w, l.epoch)
		}
		l.sent(nil)
	}
	*acks = nil
}

// Send implements link.Transport, as Expect and Taken do.
func (p port) Send(to int, area, epoch uint32, off int, b []byte, sent func(error)) {
	w := way{p.rank, to, area}
	p.mu.Lock()
	err := p.cut[w]
	p.mu.Unlock()
	if err != nil {
		go sent(err)
		return
	}
	p.road(w).letters <- letter{epoch, off, b, bytes.Clone(b), sent}
}

func (p port) Expect(from int, area uint32, into []byte, arrived func(epoch uint32, hi int)) {
	r := p.road(way{from, p.rank, area})
	r.into, r.arrived = into, arrived
	close(r.open)
}

func (p port) Taken(from int, area, epoch uint32) {
	select {
	case p.road(way{from, p.rank, area}).taken <- epoch:
	default:
		p.t.Errorf("rank %d: area %d of rank %d is taken twice in epoch %d", p.rank, area, from, epoch)
	}
}

func (w way) String() string {
	return fmt.Sprintf("area %d from rank %d to rank %d", w.area, w.from, w.to)
}
