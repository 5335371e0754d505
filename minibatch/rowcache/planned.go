package rowcache

import (
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
)

// planned keeps the rows whose next reads are nearest. It knows the reads of some steps ahead; a row that is not among them counts as read behind all that
// are, and of those the one read longest ago is the farthest. Reads are ordered within steps, too, so no two rows are equally far.
//
// Rows that a step reads from slots are the nearest until they are read. So going through the rows of a step one by one leaves the same rows as choosing among
// all of them, and all that were held.
type planned struct {
	clock
	held
	look  int
	ahead Ahead
	known int // steps before this one are in the window, or were
	reads window
	next  []int64 // by slot: the number of the next read of its row
	came  []int32 // by slot: which Fetched brought its row, where that was in this step
	used  int     // slots that hold rows: the first ones
	far   []claim // a heap: the farthest first. Claims of which next says otherwise are void
}

// claim says that the row of a slot is read next at that number.
type claim struct {
	next int64
	slot int32
}

func newPlanned(r Rules, slots int, w World) *planned {
	return &planned{held: newHeld(slots, w.Vertices), look: r.Lookahead, ahead: w.Ahead, reads: newWindow(w.Vertices), next: make([]int64, slots), came: make([]int32, slots)}
}

func (p *planned) Decide(s Step, d *Decision) {
	p.take(s.Number)
	p.see(s)
	d.reset(len(s.Rows))
	n := p.reads.first
	for i, v := range s.Rows {
		if slot := p.slot(v); slot >= 0 {
			d.From[i] = slot
			p.claim(slot, p.reads.then(n+int64(i)))
		} else {
			d.fetch(i, v, -1)
		}
	}
	for k := range d.Fetch {
		p.keep(d, k, p.reads.then(n+int64(d.Fetch[k].Row)))
	}
	p.reads.first += int64(len(s.Rows))
}

// see takes a step and those ahead of it into the window.
func (p *planned) see(s Step) {
	if p.known <= s.Number {
		p.add(s.Rows)
		p.known = s.Number + 1
	} else if !p.reads.begins(s.Rows) {
		panic(fmt.Sprintf("rowcache: step %d reads other rows than it was said to", s.Number))
	}
	for ; p.known-s.Number <= p.look; p.known++ {
		rows, ok := p.ahead(p.known)
		if !ok {
			return
		}
		p.add(rows)
	}
}

// begins reports whether the rows are the first reads of the window.
func (w *window) begins(rows []graph.NodeID) bool {
	if w.end-w.first < int64(len(rows)) {
		return false
	}
	for i, v := range rows {
		if w.ids[(w.first+int64(i))&w.mask] != v {
			return false
		}
	}
	return true
}

// add appends the reads of a step to the window. Rows in slots of which it had no read come into sight.
func (p *planned) add(rows []graph.NodeID) {
	p.reads.room(len(rows))
	for _, v := range rows {
		n := p.reads.end
		if !p.reads.add(v) {
			if slot := p.slot(v); slot >= 0 {
				p.claim(slot, n)
			}
		}
	}
}

// keep gives row k of what is fetched, which is read next at that number, a slot: a free one, or that of the row farthest away, if that is farther.
func (p *planned) keep(d *Decision, k int, next int64) {
	var slot int32
	switch {
	case p.used < len(p.ids):
		slot = int32(p.used)
		p.used++
	case len(p.ids) == 0 || p.farthest().next <= next:
		return
	default:
		slot = p.far[0].slot
		if j := int(p.came[slot]); j < k && d.Fetch[j].Slot == slot {
			d.Fetch[j].Slot = -1 // it came in this step, and is not kept
		} else {
			d.Evicted++
		}
	}
	p.put(slot, d.Fetch[k].ID)
	d.Fetch[k].Slot, p.came[slot] = slot, int32(k)
	p.claim(slot, next)
}

// claim notes when the row of a slot is read next.
func (p *planned) claim(slot int32, next int64) {
	p.next[slot] = next
	if len(p.far) >= 64+2*len(p.ids) {
		p.far = slices.DeleteFunc(p.far, func(c claim) bool { return p.next[c.slot] != c.next })
		for i := len(p.far)/2 - 1; i >= 0; i-- {
			p.sink(i)
		}
	}
	p.far = append(p.far, claim{})
	i := len(p.far) - 1
	for ; i > 0 && p.far[(i-1)/2].next < next; i = (i - 1) / 2 {
		p.far[i] = p.far[(i-1)/2]
	}
	p.far[i] = claim{next, slot}
}

// farthest returns the claim of the row whose next read is farthest, the heap's first, of which there is one.
func (p *planned) farthest() claim {
	for p.next[p.far[0].slot] != p.far[0].next {
		last := len(p.far) - 1
		p.far[0] = p.far[last]
		p.far = p.far[:last]
		p.sink(0)
	}
	return p.far[0]
}

// sink restores the order of the heap below i.
func (p *planned) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(p.far) {
			return
		}
		if child+1 < len(p.far) && p.far[child+1].next > p.far[child].next {
			child++
		}
		if p.far[child].next <= p.far[i].next {
			return
		}
		p.far[i], p.far[child] = p.far[child], p.far[i]
		i = child
	}
}

// Save has, behind ids, the number of reads so far, and for each slot the number of the last read of a row that is out of sight; 0: it comes into sight again with
// the steps ahead.
func (p *planned) Save() []byte {
	s := newState(Planned, p.clock, p.ids)
	s.put(uint64(p.reads.first))
	for slot := range p.used {
		if last := math.MaxInt64 - p.next[slot]; last < p.reads.first {
			s.put(uint64(last))
		} else {
			s.put(0)
		}
	}
	return s.bytes
}

func (p *planned) Restore(b []byte) error {
	q := newPlanned(Rules{Lookahead: p.look}, len(p.ids), World{Vertices: len(p.slotOf), Ahead: p.ahead})
	s, c, err := readState(b, Planned, &q.held)
	if err != nil {
		return err
	}
	first := s.get()
	if first < 1 || first > 1<<56 {
		return fmt.Errorf("%d reads before cached rows", first)
	}
	q.clock, q.known, q.reads.first, q.reads.end = c, c.next, int64(first), int64(first)
	for slot, v := range q.ids {
		if v < 0 {
			continue
		}
		last := s.get()
		if slot != q.used || last >= first {
			return fmt.Errorf("slot %d of cached rows is behind an empty one, or read at %d of %d", slot, last, first)
		}
		q.used++
		q.claim(int32(slot), math.MaxInt64-int64(last))
	}
	if err := s.end(); err != nil {
		return err
	}
	*p = *q
	return nil
}
