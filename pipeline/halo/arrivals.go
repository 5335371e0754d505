package halo

import (
	"slices"
	"sync"

	"capgnn/gpu"
)

// arrivals is where the rows arrive that parts of this rank read of one of another: one message after the other, each for all of them. It is taken when the
// last one has copied its rows.
type arrivals struct {
	Area
	net     Net
	mem     []byte
	readers [][]int // by kind of message: parts here that may read it

	mu      sync.Mutex
	message int64         // that is there or comes; −1: none came yet
	hi      int           // bytes of it that are there
	copies  int           // parts that have copied their rows of it
	landed  int64         // the last message whose rows are in the global cache
	changed chan struct{} // is closed when more is there
}

// openAreas takes the memory in which rows of other ranks arrive. A part that reads them has it.
func (p *Plan) openAreas() {
	if p.Net == nil {
		return
	}
	p.arriving = map[uint32]*arrivals{}
	for _, area := range p.Areas() {
		if area.To != p.Net.Rank() {
			continue
		}
		owner := int(area.Number-p.Area) % p.parts()
		a := &arrivals{Area: area, net: p.Net, message: -1, landed: -1, changed: make(chan struct{})}
		first := -1
		for _, t := range slices.Concat(p.beyond[0], p.beyond[1]) {
			var parts []int
			if x := t.crossingTo(area.To, owner); x != nil && (area.Number == p.area(t, owner, false) || area.Number == p.area(t, owner, true)) {
				for _, y := range x.readers {
					parts = append(parts, y.part)
				}
				if first < 0 {
					first = parts[0]
				}
			}
			a.readers = append(a.readers, parts)
		}
		e := p.Ends[first-p.Cuts.Whole.Own.Lo]
		a.mem = e.Memory.Pin("rows of other ranks", gpu.Bytes(area.Bytes))
		e.staged += gpu.Bytes(area.Bytes)
		p.arriving[area.Number] = a
	}
}

// Join has rows of other ranks arrive from now on. All parts are attached.
func (p *Plan) Join() {
	for _, a := range p.arriving {
		a.net.Expect(a.From, a.Number, a.mem, a.arrived)
	}
}

// arrived is called when bytes [0,hi) of a message are there.
func (a *arrivals) arrived(message uint32, hi int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch m := int64(message); {
	case m > a.message:
		a.message, a.hi = m, hi
	case m == a.message:
		a.hi = max(a.hi, hi)
	default: // the callback is late
		return
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

// state returns which message is there, how much of it, and what is closed when more is.
func (a *arrivals) state() (message int64, hi int, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.message, a.hi, a.changed
}

// copied says that one of so many parts has copied its rows of the message.
func (a *arrivals) copied(message uint32, readers int) {
	a.mu.Lock()
	a.copies++
	last := a.copies == readers
	if last {
		a.copies = 0
	}
	a.mu.Unlock()
	if last {
		a.net.Taken(a.From, a.Number, message)
	}
}

// land calls f once for each message: it puts rows into the global cache of the rank, for all parts.
func (a *arrivals) land(message uint32, f func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.landed >= int64(message) {
		return nil
	}
	a.landed = int64(message)
	return f()
}
