package rowcache

import (
	"fmt"
	"slices"

	"capgnn/graph"
)

// rapid keeps, through an epoch, the rows that the epoch's steps read most often: twice or more, ties by id. At the border of an epoch those that are not of the next
// one leave. A row comes when a step reads it first; with pull all come at the border, those that were there already, too (RapidGNN, Algorithm 1).
//
// It counts the reads of the next epoch while this one runs, one step with each that it decides.
type rapid struct {
	clock
	hot   held           // the rows that are to have slots
	rows  []graph.NodeID // by slot: the row that has come; -1: none
	pull  bool
	steps int // of an epoch
	ahead Ahead

	counted int            // the step that is counted next
	count   []int32        // by vertex: reads in the epoch that is counted
	read    []graph.NodeID // the vertices that count has
	order   []uint64       // scratch
}

func newRapid(r Rules, slots int, w World) *rapid {
	if w.Steps < 1 {
		panic(fmt.Sprintf("rowcache: %d steps in an epoch", w.Steps))
	}
	p := &rapid{hot: newHeld(slots, w.Vertices), rows: make([]graph.NodeID, slots), pull: r.Pull, steps: w.Steps, ahead: w.Ahead, count: make([]int32, w.Vertices)}
	for slot := range p.rows {
		p.rows[slot] = -1
	}
	return p
}

func (p *rapid) Decide(s Step, d *Decision) {
	border := !p.known || s.Number%p.steps == 0
	if !p.known {
		p.counted = s.Number
	}
	p.take(s.Number)
	d.reset(len(s.Rows))
	if border {
		p.see(s, (s.Number/p.steps+1)*p.steps)
		p.turn(d)
	}
	for i, v := range s.Rows {
		slot := p.hot.slot(v)
		if slot >= 0 && p.rows[slot] == v {
			d.From[i] = slot
			continue
		}
		d.fetch(i, v, slot)
		if slot >= 0 {
			p.rows[slot] = v
		}
	}
	if border && p.pull {
		for slot, v := range p.hot.ids {
			if p.rows[slot] != v {
				d.Fetch = append(d.Fetch, Fetched{v, int32(slot), -1})
				p.rows[slot] = v
			}
		}
	}
	p.see(s, s.Number+p.steps+1)
}

// see counts the reads of steps before end. The step that is decided is s.
func (p *rapid) see(s Step, end int) {
	for ; p.counted < end; p.counted++ {
		rows, ok := s.Rows, true
		if p.counted != s.Number {
			rows, ok = p.ahead(p.counted)
		}
		if !ok {
			return
		}
		for _, v := range rows {
			if p.count[v]++; p.count[v] == 1 {
				p.read = append(p.read, v)
			}
		}
	}
}

// turn gives slots to the hottest rows of what was counted. Rows that have slots already keep theirs.
func (p *rapid) turn(d *Decision) {
	hottest := p.hottest()
	stays := make([]bool, len(p.rows))
	come := hottest[:0]
	for _, v := range hottest {
		if slot := p.hot.slot(v); slot >= 0 {
			stays[slot] = true
		} else {
			come = append(come, v)
		}
	}
	for slot, v := range p.rows {
		if !stays[slot] {
			p.hot.ids[slot] = -1
			if v >= 0 {
				d.Evicted++
			}
		}
		if !stays[slot] || p.pull {
			p.rows[slot] = -1
		}
	}
	slot := int32(0)
	for _, v := range come {
		for p.hot.ids[slot] >= 0 {
			slot++
		}
		p.hot.put(slot, v)
	}
}

// hottest returns the rows that were read twice or more, the most often read first, as many as there are slots; and forgets what was counted.
func (p *rapid) hottest() []graph.NodeID {
	p.order = p.order[:0]
	for _, v := range p.read {
		if n := p.count[v]; n > 1 {
			p.order = append(p.order, uint64(^uint32(n))<<32|uint64(v))
		}
		p.count[v] = 0
	}
	slices.Sort(p.order)
	out := p.read[:0]
	for _, x := range p.order[:min(len(p.order), len(p.rows))] {
		out = append(out, graph.NodeID(uint32(x)))
	}
	p.read = p.read[:0]
	return out
}

func (p *rapid) Held() []graph.NodeID { return p.rows }

// Save has the rows that are to have slots, and for each slot whether its row has come. What was counted of the next epoch is counted again.
func (p *rapid) Save() []byte {
	s := newState(Rapid, p.clock, p.hot.ids)
	for _, v := range p.rows {
		s.put(uint64(min(v, 0) + 1))
	}
	return s.bytes
}

func (p *rapid) Restore(b []byte) error {
	q := newRapid(Rules{Pull: p.pull}, len(p.rows), World{Vertices: len(p.count), Steps: p.steps, Ahead: p.ahead})
	s, c, err := readState(b, Rapid, q.hot.ids, len(p.count))
	if err != nil {
		return err
	}
	for slot, v := range q.hot.ids {
		if v >= 0 {
			q.hot.put(int32(slot), v)
		}
		switch here := s.get(); {
		case here > 1 || here == 1 && v < 0:
			return fmt.Errorf("slot %d of cached rows is marked %d", slot, here)
		case here == 1:
			q.rows[slot] = v
		}
	}
	if err := s.end(); err != nil {
		return err
	}
	q.clock, q.counted = c, (c.next+p.steps-1)/p.steps*p.steps
	*p = *q
	return nil
}
