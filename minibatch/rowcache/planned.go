package rowcache

import (
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
)

// planned keeps the rows whose next reads are nearest. It knows the reads of some steps ahead; a row that is not among them counts as read behind all that
// are, and of those the one of the lowest degree is the farthest (then of the highest id): neighbours of many are drawn often. Reads are ordered within steps, too, so no two rows are equally far.
//
// Rows that a step reads from slots are the nearest until they are read. So going through the rows of a step one by one leaves the same rows as choosing among
// all of them, and all that were held.
type planned struct {
	clock
	look  int
	world World
	seen  int // steps before this one are in the window, or were
	reads window
	known []known // by vertex
	base  int64   // what the numbers in known count from

	ids  []graph.NodeID // by slot, -1: empty
	used int            // slots that hold rows: the first ones
	next []int64        // by slot: the number of the next read of its row
	came []int32        // by slot: which Fetched brought its row, where that was in this step
	far  []claim        // a heap: the farthest first. Claims of which next says otherwise are void
}

// known is what is known of a vertex: one load brings all.
type known struct {
	last uint32 // its last read, the number less planned.base; 0: none
	slot int32  // plus 1; 0: none
}

// claim says that the row of a slot is read next at that number.
type claim struct {
	next int64
	slot int32
}

func newPlanned(r Rules, slots int, w World) *planned {
	p := &planned{look: r.Lookahead, world: w, reads: newWindow(), known: make([]known, w.Vertices), ids: make([]graph.NodeID, slots), next: make([]int64, slots), came: make([]int32, slots)}
	for slot := range p.ids {
		p.ids[slot] = -1
	}
	return p
}

func (p *planned) Held() []graph.NodeID { return p.ids }

func (p *planned) Decide(s Step, d *Decision) {
	p.take(s.Number)
	p.see(s)
	d.reset(len(s.Rows))
	n := p.reads.first
	for i, v := range s.Rows {
		if slot := p.known[v].slot - 1; slot >= 0 {
			d.From[i] = slot
			p.claim(slot, p.then(v, n+int64(i)))
		} else {
			d.fetch(i, v, -1)
		}
	}
	for k, f := range d.Fetch {
		p.keep(d, k, p.then(f.ID, n+int64(f.Row)))
	}
	p.reads.first += int64(len(s.Rows))
}

// then returns the number of the read of v behind read n, or if that is out of sight, where it counts as read.
func (p *planned) then(v graph.NodeID, n int64) int64 {
	if next, known := p.reads.then(n); known {
		return next
	}
	return p.beyond(v)
}

// beyond returns where v counts as read if no step in sight reads it: behind all reads.
func (p *planned) beyond(v graph.NodeID) int64 {
	return 1<<62 | int64(math.MaxInt32-p.world.Degree(v))<<31 | int64(v)
}

// see takes a step and those ahead of it into the window.
func (p *planned) see(s Step) {
	if p.seen <= s.Number {
		p.add(s.Rows)
		p.seen = s.Number + 1
	} else if !p.reads.begins(s.Rows) {
		panic(fmt.Sprintf("rowcache: step %d reads other rows than it was said to", s.Number))
	}
	for ; p.seen-s.Number <= p.look; p.seen++ {
		rows, ok := p.world.Ahead(p.seen)
		if !ok {
			return
		}
		p.add(rows)
	}
}

// add appends the reads of a step to the window. Rows in slots of which it had no read come into sight.
func (p *planned) add(rows []graph.NodeID) {
	p.reads.room(len(rows))
	p.rebase(len(rows))
	for _, v := range rows {
		k, n := &p.known[v], p.reads.end
		before := p.base + int64(k.last)
		k.last = uint32(n - p.base)
		p.reads.add(v, before)
		if before < p.reads.first && k.slot > 0 {
			p.claim(k.slot-1, n)
		}
	}
}

// rebase has numbers of reads count from the window where so many more would be too many for 32 bits.
func (p *planned) rebase(reads int) {
	if p.reads.end+int64(reads)-p.base <= math.MaxUint32 {
		return
	}
	base := p.reads.first - 1
	for v := range p.known {
		k := &p.known[v]
		k.last = uint32(max(0, p.base+int64(k.last)-base))
	}
	p.base = base
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
		p.known[p.ids[slot]].slot = 0
	}
	v := d.Fetch[k].ID
	p.ids[slot], p.known[v].slot = v, slot+1
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

// Save has ids alone: when rows are read next is known again with the steps ahead.
func (p *planned) Save() []byte { return newState(Planned, p.clock, p.ids).bytes }

func (p *planned) Restore(b []byte) error {
	q := newPlanned(Rules{Lookahead: p.look}, len(p.ids), p.world)
	s, c, err := readState(b, Planned, q.ids, len(p.known))
	if err != nil {
		return err
	}
	q.clock, q.seen = c, c.next
	for slot, v := range q.ids {
		if v < 0 {
			continue
		}
		if slot != q.used {
			return fmt.Errorf("slot %d of cached rows is behind an empty one", slot)
		}
		q.used++
		q.known[v].slot = int32(slot) + 1
		q.claim(int32(slot), q.beyond(v))
	}
	if err := s.end(); err != nil {
		return err
	}
	*p = *q
	return nil
}
