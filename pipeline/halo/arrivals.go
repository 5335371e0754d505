package halo

import (
	"slices"
	"sync"

	"capgnn/gpu"
	"capgnn/pipeline/link"
)

// arrivals is where the rows arrive that parts of this rank read of one of another: one message after the other, each
// for all of them. It is taken when the last one has copied its rows.
type arrivals struct {
	*link.Inbox
	readers [][]int // by kind of message: parts here that may read it

	mu     sync.Mutex
	landed int64 // the last message whose rows are in the global cache
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
		a := &arrivals{landed: -1}
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
		a.Inbox = link.NewInbox(area, e.Memory.Pin("rows of other ranks", gpu.Bytes(area.Bytes)))
		e.staged += gpu.Bytes(area.Bytes)
		p.arriving[area.Number] = a
	}
}

// Join has rows of other ranks arrive from now on. All parts are attached.
func (p *Plan) Join() {
	for _, a := range p.arriving {
		a.Open(p.Net, nil)
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
