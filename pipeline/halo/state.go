package halo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/meet"
	"capgnn/jaca"
)

// A checkpoint of a run that uses rows of earlier epochs has these sections besides:
//
//	halo/state          haloState as JSON
//	halo/K/P/local      rows of exchange K in the local slots of part P, as they lie there
//	halo/K/P/transient  the same of its other rows, where they stay until the next epoch; where no row has a slot, /transient O of
//	                    those of owner O: rows that are not exchanged lie between them
//	halo/K/P/sent       rows that part P has packed for the next epoch, with the pipeline
//	halo/K/P/smoothed   rows of the global cache as part P goes on smoothing them, of all classes
//	halo/K/P/C          the newest rows of class C that part P has put into the global cache
//	halo/K/0/slots      rows of the global cache of exchange K, by slot, with a policy that decides while rows are read

// haloState is what a checkpoint says about them.
type haloState struct {
	Plan      string          // Plan.key
	Exchanges []exchangeState `json:"Legs"`
	Ladder    json.RawMessage `json:",omitempty"`
}

// exchangeState is one exchange.
type exchangeState struct {
	Exchange string
	Schedule jaca.Schedule
	Made     [][][]int // [part][block][owner]
	Cached   [][]int   // [class][owner]: epoch of the newest rows in the global cache, −1 = none
}

// Save adds what the next epoch reads of earlier ones to a checkpoint. All transfers have ended.
func (p *Plan) Save(c *checkpoint.File) error {
	if !p.ages() {
		return nil
	}
	if c.Sections == nil {
		c.Sections = map[string]checkpoint.Section{}
	}
	s := haloState{Plan: p.key()}
	for k, l := range p.training {
		state := exchangeState{Exchange: l.ID.String(), Schedule: l.schedule(), Made: make([][][]int, p.parts())}
		for _, x := range p.sides {
			r := x.relays[k]
			state.Made[x.ep.Part] = r.made
			r.settle(x.ep.Compute, &r.renewal)
			r.save(c.Sections)
		}
		for class := range l.classes {
			epochs := make([]int, p.parts())
			for o := range epochs {
				epochs[o] = l.saveBlock(c.Sections, class, o)
			}
			state.Cached = append(state.Cached, epochs)
		}
		if l.dynamic != nil {
			if rows := l.dynamic.Section(); rows != nil {
				c.Sections[l.section(0, "slots")] = rows
			}
		}
		s.Exchanges = append(s.Exchanges, state)
	}
	var err error
	if p.periods.ladder != nil {
		if s.Ladder, err = json.Marshal(p.periods.ladder); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(s)
	c.Sections["halo/state"] = bytes.NewReader(raw)
	return err
}

// section names a block of a checkpoint.
func (t *traffic) section(part int, what any) string {
	return fmt.Sprintf("halo/%d/%d/%v", t.index, part, what)
}

// lasting returns the matrices of a relay that the next epoch reads, by the name of their sections.
func (r *relay) lasting() map[string]gpu.Matrix {
	m := map[string]gpu.Matrix{"local": r.local}
	switch {
	case !r.keeps || !r.pipelined:
	case r.mine.place != nil:
		m["transient"] = r.transient
	default:
		for o, e := range r.mine.direct[0] {
			m[fmt.Sprint("transient ", r.mine.owners[o])] = r.transient.RowRange(e.first, e.first+e.n)
		}
	}
	if !r.smoothed.rows.Empty() {
		m["smoothed"] = r.smoothed.rows
	}
	if r.own != nil && r.at[1] > 0 {
		m["sent"] = r.wire(r.own.send, 0, r.at[1])
	}
	return m
}

// save adds what a part holds of one exchange.
func (r *relay) save(into map[string]checkpoint.Section) {
	// Slots of dynamic policies may have had no row yet, and sent rows may be encoded.
	known := r.hub.Epoch >= r.schedule().Start && r.dynamic == nil
	for what, m := range r.lasting() {
		if m.Empty() {
			continue
		}
		var check func([]byte) error
		if known && what != "sent" && m.Type == gpu.FP32 {
			check = r.finiteRows
		}
		into[r.section(r.ep.Part, what)] = section.OfDevice(r.ep.Compute, r.ep.Waits.Settle, m.Buf, startOf(m), gpu.Bytes(bytesOf(m)), check)
	}
}

// finiteRows checks halo rows of an exchange.
func (r *side) finiteRows(part []byte) error {
	if section.Finite(hostmem.Of[float32](part)) {
		return nil
	}
	return &section.NotFinite{What: fmt.Sprintf("epoch %d: halo rows of %v at part %d", r.hub.Epoch, r.ID, r.ep.Part)}
}

// startOf is where a matrix begins in its buffer.
func startOf(m gpu.Matrix) gpu.Bytes { return gpu.Bytes(m.Off * m.Type.Size()) }

// bytesOf is the size of a matrix without gaps.
func bytesOf(m gpu.Matrix) int { return m.Rows * m.Cols * m.Type.Size() }

// saveBlock adds the newest rows of a block of the global cache and returns their epoch, −1 if there are none.
func (t *traffic) saveBlock(into map[string]checkpoint.Section, class, owner int) int {
	if t.blocks == nil || t.blocks[class][owner] == nil {
		return -1
	}
	block := t.blocks[class][owner]
	epochs := block.Epochs()
	if len(epochs) == 0 {
		return -1
	}
	epoch := epochs[len(epochs)-1]
	reading, err := block.Read(epoch)
	if err != nil {
		return -1
	}
	into[t.section(owner, class)] = bytes.NewReader(reading.Rows())
	return epoch
}

// errOtherHalo says that a checkpoint's halo rows are not of this plan.
var errOtherHalo = errors.New("halo rows are of another plan")

// Each runs f for every part in a goroutine of its own, and waits for all. It returns the error of the part that failed first.
type Each func(f func(part int) error) error

// Restore puts the rows of earlier epochs back, by way of piece. Where a checkpoint has none, or those of another plan, all rows are due
// once more in the next epoch: the run goes on, with other bits than without the stop. bypassed says that caches had been left alone.
// What moves for it is not counted: the epochs before have.
func (p *Plan) Restore(c *checkpoint.File, piece []byte, bypassed bool, each Each) error {
	if !p.ages() {
		return nil
	}
	err := p.take(c, piece, each)
	for _, e := range p.Ends {
		e.stats = jaca.Stats{}
	}
	if errors.Is(err, errOtherHalo) {
		p.Log.Warn("all halo rows are due once more", "epoch", c.Epoch, "why", err)
		p.periods.restart(c.Epoch)
		if p.dynamic != nil {
			p.dynamic.Restart()
		}
		if bypassed {
			p.leaveCaches(c.Epoch)
		}
		return nil
	}
	return err
}

// take checks a checkpoint's halo state against the plan, then takes it over, by way of piece.
func (p *Plan) take(c *checkpoint.File, piece []byte, each Each) error {
	var s haloState
	raw, ok := c.Sections["halo/state"]
	if !ok {
		return fmt.Errorf("%w: the checkpoint has none", errOtherHalo)
	}
	if err := json.NewDecoder(raw).Decode(&s); err != nil {
		return fmt.Errorf("%w: %w", errOtherHalo, err)
	}
	if err := p.checkState(&s, c.Sections); err != nil {
		return err
	}
	if p.periods.ladder != nil {
		if err := p.periods.ladder.Restore(s.Ladder, c.Epoch); err != nil {
			return fmt.Errorf("%w: %w", errOtherHalo, err)
		}
	}
	for k := range p.training {
		p.periods.resume(k, s.Exchanges[k].Schedule)
		if err := p.loadExchange(k, &s.Exchanges[k], c, piece, each); err != nil {
			return err
		}
	}
	if p.dynamic != nil {
		return p.resumeDynamic(c, piece)
	}
	return each(func(part int) error { return meet.Guard(func() { p.side(part).resume(c.Epoch) }) })
}

// loadExchange puts the rows of one exchange back to where they lay, on all parts.
func (p *Plan) loadExchange(k int, s *exchangeState, c *checkpoint.File, piece []byte, each Each) error {
	l := p.training[k]
	for _, x := range p.sides {
		r, i := x.relays[k], x.ep.Part
		r.made = s.Made[i]
		for what, m := range r.lasting() {
			if err := section.Upload(c.Sections[l.section(i, what)], piece, section.Place{Queue: x.ep.Compute, Buf: m.Buf, At: startOf(m)}); err != nil {
				return err
			}
		}
	}
	for class := range l.classes {
		for o, epoch := range s.Cached[class] {
			if err := p.loadBlock(k, class, o, epoch, c.Sections[l.section(o, class)]); err != nil {
				return err
			}
		}
	}
	if l.schedule().Lag == 0 || l.keeps {
		return nil
	}
	return each(func(part int) error { return meet.Guard(func() { p.side(part).relays[k].resume(c.Epoch - 1) }) })
}

// loadBlock puts rows back into the global cache and tells all parts.
func (p *Plan) loadBlock(k, class, owner, epoch int, rows checkpoint.Section) error {
	if epoch < 0 {
		return nil
	}
	block := p.training[k].blocks[class][owner]
	mem, err := block.Begin(epoch)
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(rows, mem); err != nil {
		return err
	}
	if err := block.Publish(); err != nil {
		return err
	}
	for _, s := range p.training[k].senders[owner] {
		if !p.own(s.reader) {
			continue
		}
		x := p.side(s.reader)
		x.relays[k].books[class][s.at].note(entry{epoch: epoch, rows: mem, published: x.ep.Compute.Record()})
	}
	return nil
}

// resume brings what is on its way when an epoch begins.
func (x *Exchange) resume(epoch int) {
	if len(x.turns) > 0 {
		x.prefetchNextEpoch(epoch, x.ep.Compute.Record())
	}
}

// resume sends the rows without a slot once more that an epoch has packed for the next one, and takes those of the others.
func (r *relay) resume(epoch int) {
	none := []int{0}
	ready := r.ep.Compute.Record()
	for n, s := range r.senders[r.ep.Part] {
		if r.readers[s.reader].reads(s.at, none) {
			r.post(r.own, &shipment{epoch: epoch, buffer: r.own.number, blocks: none, ready: ready}, []int{0}, n)
		}
	}
	r.refresh(&r.renewal, epoch, none)
}
