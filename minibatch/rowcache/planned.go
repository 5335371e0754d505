package rowcache

import (
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
)

// planned keeps the rows whose next reads are nearest. It knows the reads of some steps ahead, fewer at the beginning of a run; a row that is not among them counts as read behind all that
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
	was  []known        // scratch of add: by row of the step, before it
	came []int32        // by slot: which Fetched brought its row, where that was in this step
	lost []int64        // a heap: where rows count as read that are held, and that nothing in sight reads; the farthest first, some of them void
}

// known is what is known of a vertex: one load brings all.
type known struct {
	last uint32 // its last read, the number less planned.base; 0: none
	slot int32  // plus 1; 0: none
}

func newPlanned(r Rules, slots int, w World) *planned {
	p := &planned{look: r.Lookahead, world: w, reads: newWindow(), known: make([]known, w.Vertices), ids: make([]graph.NodeID, slots), came: make([]int32, slots)}
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
	p.reads.first += int64(len(s.Rows))
	for i, v := range s.Rows { // a loop of its own: no load waits for another
		d.From[i] = p.known[v].slot - 1
	}
	for i, v := range s.Rows {
		if d.From[i] < 0 {
			d.fetch(i, v, -1)
		} else {
			p.reads.unmark(n + int64(i))
			p.expect(v, n+int64(i))
		}
	}
	for k := range d.Fetch {
		p.keep(d, k, n+int64(d.Fetch[k].Row))
	}
}

// expect notes when a row that is held is read next behind read n.
func (p *planned) expect(v graph.NodeID, n int64) {
	if next, known := p.reads.then(n); known {
		p.reads.mark(next)
	} else {
		p.lose(v)
	}
}

// beyond returns where v counts as read if no step in sight reads it: behind all reads.
func (p *planned) beyond(v graph.NodeID) int64 {
	return int64(math.MaxInt32-p.world.Degree(v))<<31 | int64(v)
}

// see takes a step and those ahead of it into the window.
func (p *planned) see(s Step) {
	if p.seen <= s.Number {
		p.add(s.Rows)
		p.seen = s.Number + 1
	} else if !p.reads.begins(s.Rows) {
		panic(fmt.Sprintf("rowcache: step %d reads other rows than it was said to", s.Number))
	}
	for look := p.far(s.Number); p.seen-s.Number <= look; p.seen++ {
		rows, ok := p.world.Ahead(p.seen)
		if !ok {
			return
		}
		p.add(rows)
	}
}

// The first step of a run looks soon steps ahead, and each later one rise steps more. One more in place of three cost 3 % of the rows of a short run whose cache is large.
const (
	soon = 4
	rise = 3
)

// far returns how many steps behind one are looked at: more with each, until they are as many as the rules say. So the first step of a run does not wait for all of these.
func (p *planned) far(step int) int {
	if p.look == All {
		return All
	}
	return min(p.look, soon+rise*step)
}

// add appends the reads of a step to the window. Rows in slots of which it had no read come into sight.
func (p *planned) add(rows []graph.NodeID) {
	p.reads.room(len(rows))
	p.rebase(len(rows))
	p.was = slices.Grow(p.was[:0], len(rows))[:len(rows)]
	last := uint32(p.reads.end - p.base)
	for i, v := range rows { // a loop of its own: no load waits for another
		p.was[i], p.known[v].last = p.known[v], last+uint32(i)
	}
	for i, k := range p.was {
		before := p.base + int64(k.last)
		if before < p.reads.first && k.slot > 0 {
			p.reads.mark(p.reads.end)
		}
		p.reads.add(rows[i], before)
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

// keep gives row k of what is fetched, which is read n, a slot: a free one, or that of the row farthest away, if that is farther.
func (p *planned) keep(d *Decision, k int, n int64) {
	v, slot := d.Fetch[k].ID, int32(p.used)
	if p.used < len(p.ids) {
		p.used++
	} else if slot = p.leave(v, n); slot < 0 {
		return
	} else if j := int(p.came[slot]); j < k && d.Fetch[j].Slot == slot {
		d.Fetch[j].Slot = -1 // it came in this step, and is not kept
	} else {
		d.Evicted++
	}
	p.ids[slot], p.known[v].slot = v, slot+1
	d.Fetch[k].Slot, p.came[slot] = slot, int32(k)
	p.expect(v, n)
}

// leave takes its slot from the row farthest away, if that is farther than v behind read n; -1: it is not.
func (p *planned) leave(v graph.NodeID, n int64) (slot int32) {
	next, known := p.reads.then(n)
	out := p.farthest()
	switch {
	case out >= 0:
		if !known && p.beyond(v) > p.lost[0] {
			return -1
		}
		p.unlose()
	case !known:
		return -1
	default:
		last := p.reads.last()
		if last <= next {
			return -1
		}
		p.reads.unmark(last)
		out = p.reads.id(last)
	}
	slot = p.known[out].slot - 1
	p.known[out].slot = 0
	return slot
}

// lose notes that nothing in sight reads a row that is held.
func (p *planned) lose(v graph.NodeID) {
	if len(p.lost) >= 64+2*len(p.ids) {
		p.lost = slices.DeleteFunc(p.lost, func(x int64) bool { return !p.isLost(x) })
		slices.Sort(p.lost)
		p.lost = slices.Compact(p.lost)
		slices.Reverse(p.lost)
	}
	x := p.beyond(v)
	p.lost = append(p.lost, 0)
	i := len(p.lost) - 1
	for ; i > 0 && p.lost[(i-1)/2] < x; i = (i - 1) / 2 {
		p.lost[i] = p.lost[(i-1)/2]
	}
	p.lost[i] = x
}

// isLost reports whether an element of lost is not void.
func (p *planned) isLost(x int64) bool {
	k := p.known[x&math.MaxInt32]
	return k.slot > 0 && p.base+int64(k.last) < p.reads.first
}

// farthest returns the farthest of the rows that nothing in sight reads, which is the first in lost; -1: there is none.
func (p *planned) farthest() graph.NodeID {
	for len(p.lost) > 0 {
		if x := p.lost[0]; p.isLost(x) {
			return graph.NodeID(x & math.MaxInt32)
		}
		p.unlose()
	}
	return -1
}

// unlose takes the first element of lost away.
func (p *planned) unlose() {
	last := len(p.lost) - 1
	x, i := p.lost[last], 0
	p.lost = p.lost[:last]
	for child := 1; child < last; child = 2*i + 1 {
		if child+1 < last && p.lost[child+1] > p.lost[child] {
			child++
		}
		if p.lost[child] <= x {
			break
		}
		p.lost[i] = p.lost[child]
		i = child
	}
	if last > 0 {
		p.lost[i] = x
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
	if q.used, err = firstSlots(q.ids); err != nil {
		return err
	}
	for slot, v := range q.ids[:q.used] {
		q.known[v].slot = int32(slot) + 1
		q.lose(v)
	}
	if err := s.end(); err != nil {
		return err
	}
	*p = *q
	return nil
}
