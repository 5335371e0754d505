package halo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/meet"
	"capgnn/jaca"
)

// A checkpoint of a run that uses rows of earlier epochs has these sections besides:
//
//	halo/state          haloState as JSON; over ranks halo/state of rank R of each
//	halo/K/P/local      rows of exchange K in the local slots of part P, as they lie there
//	halo/K/P/transient  the same of its other rows, where they stay until the next epoch; where no row has a slot, /transient O of
//	                    those of owner O: rows that are not exchanged lie between them
//	halo/K/P/sent       rows that part P has packed for the next epoch, with the pipeline
//	halo/K/P/C          the newest rows of class C that part P has put into the global cache; where they cross between ranks, C of rank R as rank R has them

// haloState is what a checkpoint says about them.
type haloState struct {
	Plan      string          // Plan.key
	Exchanges []exchangeState `json:"Legs"`
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
	if err := meet.Guard(p.renewComing); err != nil {
		return err
	}
	s := haloState{Plan: p.key()}
	for k, l := range p.allTraining() {
		state := exchangeState{Exchange: l.ID.String(), Schedule: l.schedule(), Made: make([][][]int, p.parts())}
		for _, x := range p.sides {
			r := x.relay(k)
			state.Made[x.ep.Part] = r.made
			r.settle(x.ep.Compute, &r.renewal)
			r.save(c.Sections)
		}
		for class := range l.classes {
			epochs := make([]int, p.parts())
			for o := range epochs {
				epochs[o] = p.saveBlock(l, c.Sections, class, o)
			}
			state.Cached = append(state.Cached, epochs)
		}
		s.Exchanges = append(s.Exchanges, state)
	}
	raw, err := json.Marshal(s)
	c.Sections[p.stateSection()] = bytes.NewReader(raw)
	return err
}

// renewComing takes what a checkpoint holds out of what is on its way from other ranks.
func (p *Plan) renewComing() {
	for _, x := range p.sides {
		for _, r := range x.relays {
			if b := r.beyond; b != nil {
				b.renewComing()
				x.ep.Compute.Wait(x.ep.Prefetch.Record())
			}
		}
	}
}

// stateSection names the section that says what this process has saved.
func (p *Plan) stateSection() string {
	if near, _ := p.scopes(); near.ranks == nil {
		return StateSection
	}
	return fmt.Sprintf("%s of rank %d", StateSection, p.Net.Rank())
}

// StateSection is what the names of sections begin with that say what others hold.
const StateSection = "halo/state"

// relay returns the part's side of an exchange, in the order of Plan.allTraining.
func (x *Exchange) relay(k int) *relay {
	if n := len(x.relays); k >= n {
		return x.relays[k-n].beyond
	}
	return x.relays[k]
}

// section names a block of a checkpoint.
func (t *traffic) section(part int, what any) string {
	return fmt.Sprintf("halo/%d/%d/%v", t.index, part, what)
}

// blockSection names a block of the global cache in a checkpoint.
func (t *traffic) blockSection(class, owner, rank int) string {
	if t.across {
		return t.section(owner, fmt.Sprintf("%d of rank %d", class, rank))
	}
	return t.section(owner, class)
}

// lasting returns the matrices of a relay that the next epoch reads, by the name of their sections.
func (r *relay) lasting() map[string]gpu.Matrix {
	m := map[string]gpu.Matrix{}
	if !r.across { // the halo matrix is that of both
		m["local"] = r.local
	}
	switch {
	case !r.keeps || !r.pipelined:
	case r.mine.place != nil:
		if !r.across {
			m["transient"] = r.transient
		}
	default:
		for o, e := range r.mine.direct[0] {
			if !r.has(r.ep.Part, int(r.mine.owners[o])) {
				continue
			}
			m[fmt.Sprint("transient ", r.mine.owners[o])] = r.transient.RowRange(e.first, e.first+e.n)
		}
	}
	if r.own != nil && r.at[1] > 0 {
		m["sent"] = r.wire(r.own.send, 0, r.at[1])
	}
	return m
}

// save adds what a part holds of one exchange.
func (r *relay) save(into map[string]checkpoint.Section) {
	known := r.hub.Epoch >= r.schedule().Start // sent rows may be encoded
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
func (p *Plan) saveBlock(t *traffic, into map[string]checkpoint.Section, class, owner int) int {
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
	into[t.blockSection(class, owner, p.rankOf())] = bytes.NewReader(reading.Rows())
	return epoch
}

func (p *Plan) rankOf() int {
	if p.Net == nil {
		return 0
	}
	return p.Net.Rank()
}

// errOtherHalo says that a checkpoint's halo rows are not of this plan.
var errOtherHalo = errors.New("halo rows are of another plan")

// Resuming is what a checkpoint's halo rows are read by.
type Resuming struct {
	// Each runs f for every part of this process in a goroutine of its own, and waits for all. It returns the error of the part that failed first.
	Each func(f func(part int) error) error
	// Read hands sections of the checkpoint over, each to the function that its name has. nil: they are those of the file, and each is read in name order.
	Read func(sinks map[string]func(checkpoint.Section) error) error
	// Agree returns the first error of all processes, where they are to go on alike. nil: there is one.
	Agree func(error) error
}

// Restore puts the rows of earlier epochs back, by way of piece. Where a checkpoint has none, or those of another plan, all rows are due
// once more in the next epoch: the run goes on, with other bits than without the stop.
// What moves for it is not counted: the epochs before have.
func (p *Plan) Restore(c *checkpoint.File, piece []byte, by Resuming) error {
	if !p.ages() {
		return nil
	}
	err := p.take(c, piece, by)
	for _, e := range p.Ends {
		e.stats = jaca.Stats{}
	}
	if errors.Is(err, errOtherHalo) {
		p.Log.Warn("all halo rows are due once more", "epoch", c.Epoch, "why", err)
		p.periods.restart(c.Epoch)
		return nil
	}
	return err
}

// take checks a checkpoint's halo state against the plan, then takes it over, by way of piece.
func (p *Plan) take(c *checkpoint.File, piece []byte, by Resuming) error {
	s, err := p.readState(c)
	if by.Agree != nil {
		if other := by.Agree(err); err == nil && other != nil {
			err = otherHalo("another rank: %w", other)
		}
	}
	if err != nil {
		return err
	}
	sinks := map[string]func(checkpoint.Section) error{}
	for k := range p.allTraining() {
		p.periods.resume(k, s.Exchanges[k].Schedule)
		p.sinksOf(k, &s.Exchanges[k], piece, sinks)
	}
	read := by.Read
	if read == nil {
		read = func(sinks map[string]func(checkpoint.Section) error) error {
			for _, name := range slices.Sorted(maps.Keys(sinks)) {
				if err := sinks[name](c.Sections[name]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := read(sinks); err != nil {
		return err
	}
	for k, l := range p.allTraining() {
		if l.schedule().Lag == 0 || l.keeps {
			continue
		}
		if err := by.Each(func(part int) error { return meet.Guard(func() { p.side(part).relay(k).resume(c.Epoch - 1) }) }); err != nil {
			return err
		}
	}
	return by.Each(func(part int) error { return meet.Guard(func() { p.side(part).resume(c.Epoch) }) })
}

// readState returns what a checkpoint says about halo rows, if it is of this plan.
func (p *Plan) readState(c *checkpoint.File) (*haloState, error) {
	var s haloState
	raw, ok := c.Sections[p.stateSection()]
	if !ok {
		return nil, fmt.Errorf("%w: the checkpoint has none", errOtherHalo)
	}
	if err := json.NewDecoder(raw).Decode(&s); err != nil {
		return nil, fmt.Errorf("%w: %w", errOtherHalo, err)
	}
	return &s, p.checkState(&s, c.Sections)
}

// sinksOf adds what puts the rows of one exchange back to where they lay, on all parts.
func (p *Plan) sinksOf(k int, s *exchangeState, piece []byte, sinks map[string]func(checkpoint.Section) error) {
	l := p.allTraining()[k]
	for _, x := range p.sides {
		r, i := x.relay(k), x.ep.Part
		r.made = s.Made[i]
		for what, m := range r.lasting() {
			if m.Empty() {
				continue
			}
			sinks[l.section(i, what)] = func(from checkpoint.Section) error {
				return section.Upload(from, piece, section.Place{Queue: x.ep.Compute, Buf: m.Buf, At: startOf(m)})
			}
		}
	}
	for class := range l.classes {
		for o, epoch := range s.Cached[class] {
			if epoch >= 0 {
				sinks[l.blockSection(class, o, p.rankOf())] = func(from checkpoint.Section) error { return p.loadBlock(k, class, o, epoch, from) }
			}
		}
	}
}

// loadBlock puts rows back into the global cache and tells all parts.
func (p *Plan) loadBlock(k, class, owner, epoch int, rows checkpoint.Section) error {
	l := p.allTraining()[k]
	block := l.blocks[class][owner]
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
	for _, x := range p.sides {
		if at, reads := slices.BinarySearch(l.readers[x.ep.Part].owners, int32(owner)); reads {
			x.relay(k).books[class][at].note(entry{epoch: epoch, rows: mem})
		}
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
	if r.across {
		r.leave(r.own, ready, []int{0}, epoch, none)
		r.expect(epoch, none)
		r.coming.renewed = true
		return
	}
	for n, s := range r.senders[r.ep.Part] {
		if r.readers[s.reader].reads(s.at, none) {
			r.post(r.own, &shipment{epoch: epoch, buffer: r.own.number, blocks: none, ready: ready}, []int{0}, n)
		}
	}
	r.refresh(&r.renewal, epoch, none)
}
