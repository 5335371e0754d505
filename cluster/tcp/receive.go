package tcp

import (
	"fmt"
	"sync"

	"capgnn/cluster"
)

// inbounds are the areas of this rank that one peer fills.
type inbounds struct {
	mu    sync.Mutex
	areas map[uint32]*inbound // set once
}

// inbound is one of them.
type inbound struct {
	area    cluster.Area
	into    []byte
	arrived func(epoch uint32, hi int)
	epoch   uint32 // of the last message that began
	hi      int    // bytes of it that are there
	begun   bool   // there was a message
	busy    bool   // the message was not taken yet
}

// Expect gives the memory of an area of the table that another rank fills, and tells that rank that it may. When a piece has come, arrived
// is called with the epoch of its message and how many bytes of it are there; it must not block. Once for each area, before Taken.
func (g *Group) Expect(from int, area uint32, into []byte, arrived func(epoch uint32, hi int)) {
	l := g.link(from)
	l.inbound.mu.Lock()
	a := l.inbound.areas[area]
	if a == nil || a.arrived != nil || len(into) != a.area.Bytes || arrived == nil {
		l.inbound.mu.Unlock()
		panic(fmt.Sprintf("tcp: Expect of %d bytes in area %d from rank %d: not in the table, of another size, or the second", len(into), area, from))
	}
	a.into, a.arrived = into, arrived
	l.inbound.mu.Unlock()
	l.push(frame{head: cluster.Header{Kind: cluster.Open, Area: area, Offset: uint64(len(into))}})
}

// Taken says that the message of an area has come whole and that its memory may be overwritten, so the sender may send the next.
func (g *Group) Taken(from int, area, epoch uint32) {
	l := g.link(from)
	l.inbound.mu.Lock()
	a := l.inbound.areas[area]
	if a == nil || !a.busy || a.epoch != epoch {
		l.inbound.mu.Unlock()
		panic(fmt.Sprintf("tcp: Taken of epoch %d in area %d from rank %d, which has not arrived", epoch, area, from))
	}
	a.busy = false
	l.inbound.mu.Unlock()
	l.pushKind(cluster.Taken, area, epoch)
}

// rows receives a frame straight into its area.
func (l *link) rows(h cluster.Header) error {
	l.inbound.mu.Lock()
	a := l.inbound.areas[h.Area]
	err := a.admit(h)
	l.inbound.mu.Unlock()
	if err != nil {
		return protocolError(err)
	}
	at, n := int(h.Offset), int(h.Length)
	if err := l.fill(a.into[at : at+n]); err != nil {
		return err
	}
	l.inbound.mu.Lock()
	if !a.busy || a.epoch != h.Epoch {
		l.inbound.mu.Unlock()
		return protocolError(fmt.Errorf("it sent more of epoch %d in area %d than was expected", h.Epoch, h.Area))
	}
	a.hi = at + n
	l.inbound.mu.Unlock()
	l.counts.received.Add(int64(n))
	a.arrived(h.Epoch, at+n)
	return nil
}

// admit says what is wrong with a frame of rows, and begins its message if it is the first.
func (a *inbound) admit(h cluster.Header) error {
	if a == nil || a.arrived == nil {
		return fmt.Errorf("it sent area %d, which is not expected", h.Area)
	}
	first := !a.busy && (!a.begun || h.Epoch > a.epoch)
	if !first && (!a.busy || h.Epoch != a.epoch) {
		return fmt.Errorf("it sent epoch %d in area %d after epoch %d", h.Epoch, h.Area, a.epoch)
	}
	hi := a.hi
	if first {
		hi = 0
	}
	if h.Offset != uint64(hi) || h.Length > uint32(min(len(a.into)-hi, cluster.MaxFrame)) || h.Length == 0 && !first {
		return fmt.Errorf("it sent %d bytes at %d of area %d, which has %d, %d of them there", h.Length, h.Offset, h.Area, len(a.into), hi)
	}
	if first {
		a.begun, a.busy, a.epoch, a.hi = true, true, h.Epoch, 0
	}
	return nil
}
