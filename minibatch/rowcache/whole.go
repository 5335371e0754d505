package rowcache

import (
	"fmt"

	"capgnn/graph"
)

// whole is planned where there is a slot for every row that may be read: a row comes when a step reads it first, and stays. So it has nothing to look ahead for, and decides as planned
// with any look-ahead would.
type whole struct {
	clock
	held
	used int // slots that hold rows: the first ones
}

func (p *whole) Decide(s Step, d *Decision) {
	p.take(s.Number)
	d.reset(len(s.Rows))
	for i, v := range s.Rows {
		if d.From[i] = p.slot(v); d.From[i] >= 0 {
			continue
		}
		d.fetch(i, v, int32(p.used))
		p.put(int32(p.used), v)
		p.used++
	}
}

// Save is planned's.
func (p *whole) Save() []byte { return newState(Planned, p.clock, p.ids).bytes }

func (p *whole) Restore(b []byte) error {
	q := whole{held: newHeld(len(p.ids), len(p.slotOf))}
	s, c, err := readState(b, Planned, q.ids, len(q.slotOf))
	if err != nil {
		return err
	}
	if q.used, err = firstSlots(q.ids); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	for slot, v := range q.ids[:q.used] {
		q.put(int32(slot), v)
	}
	q.clock = c
	*p = q
	return nil
}

// firstSlots returns how many slots hold rows, which are the first ones.
func firstSlots(ids []graph.NodeID) (used int, err error) {
	for slot, v := range ids {
		if v < 0 {
			continue
		}
		if slot != used {
			return 0, fmt.Errorf("slot %d of cached rows is behind an empty one", slot)
		}
		used++
	}
	return used, nil
}
