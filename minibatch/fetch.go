package minibatch

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/minibatch/rowcache"
)

// fetcher brings the rows of other parts to the steps of one part, and keeps some of them. Two goroutines of the
// part's feed use it, each in the order of steps: decide says which rows the cache has and asks owners for the
// others, collect waits for those and puts rows where the device reads them. So while a step is collected, rows of
// later ones are on their way. What is decided and fetched together is a turn: a step, or with Hop and without
// gathering one of its units.
//
// Only collect reads and writes the cache, turn by turn, and a turn's reads before its writes: a slot is written
// behind the reads of all earlier turns, and a row that a turn brings is in its slot when a later turn reads it. So
// a row that is on its way to a slot is not asked for twice.
type fetcher struct {
	hub       *meet.Hub // of its own: the run's is in the epoch that is computed
	epoch     int       // steps of an epoch
	g         *stage
	rules     rowcache.Rules
	service   service
	across    *crossing  // of a simulation of several machines; nil: this is none
	linked    []bool     // by part: its rows cross links that the host emulates; nil: none do
	charged   bool       // rows take the time of links on the device's clock (Trainer.charge), none of the host's
	lookahead *lookahead // nil: the policy does not look ahead
	turns     int        // of a step
	slots     int
	row       int // bytes of a slot
	arena     *hostmem.Arena
	cache     *hostmem.Block // slots
	awaited   atomic.Int32   // the owner whose rows are waited for, -1: none
	due       atomic.Int32   // the step of its epoch that they are for

	policy    rowcache.Policy // of decide
	known     numbers         // of decide
	keeps     bool            // what a checkpoint needs: of every part, with slots or without
	snapshots snapshots
}

// away reports whether the home of a vertex is another part.
func (g *stage) away(v graph.NodeID) bool { return int(g.home[v]) != g.part }

func (g *stage) others(ids []graph.NodeID) (n int) {
	if g.home == nil {
		return 0
	}
	for _, v := range ids {
		if g.away(v) {
			n++
		}
	}
	return n
}

// decide says where each row of a slot comes from, and asks for those that are not here.
func (f *fetcher) decide(s *slot) error {
	for k := range s.turns {
		start, x := time.Now(), &s.turns[k]
		x.step = s.step
		x.remote(f.g, &f.known)
		turn := s.step*len(s.turns) + k
		f.keep(turn)
		if err := f.choose(turn, x); err != nil {
			return err
		}
		x.sort(f.g)
		c := f.count(x)
		x.done, x.to = 0, 0
		asked := time.Now()
		f.ask(x)
		if f.lookahead != nil {
			c.Time.Sample += time.Duration(f.lookahead.spent.Swap(0))
		}
		c.Time.Decide = asked.Sub(start)
		if took := time.Since(asked); f.charged {
			c.Time.Stage += took
		} else {
			c.Time.Fetch = took
		}
	}
	return f.failed()
}

func (f *fetcher) choose(turn int, x *fetching) error {
	if f.lookahead != nil {
		f.lookahead.decides(turn)
	}
	err := meet.Guard(func() { f.policy.Decide(rowcache.Step{Number: turn, Rows: x.ids}, &x.decision) })
	if late := waited(err); late != nil {
		late.Epoch = x.step / f.epoch
	}
	return err
}

// count counts what was decided, for the first of the units.
func (f *fetcher) count(x *fetching) *Counts {
	for u := range x.units {
		c := &x.units[u].counts
		c.Rows.Fetched, c.Requests, c.Bytes, x.units[u].linked = 0, 0, Traffic{}, 0
	}
	c := &x.units[0].counts
	for k := range x.decision.Fetch {
		row := &x.decision.Fetch[k]
		if row.Row < 0 {
			c.Rows.Prefilled++
		} else {
			c.Rows.Fetched++
		}
		size := gpu.Bytes(f.g.rowSize(row.ID))
		if c.Bytes.Rows += size; f.linked != nil && f.linked[f.g.home[row.ID]] {
			x.units[0].linked += size + idBytes
		}
	}
	c.Bytes.IDs = idBytes * gpu.Bytes(len(x.decision.Fetch))
	c.Rows.Hit = int64(len(x.ids)) - c.Rows.Fetched
	c.Rows.Evicted = int64(x.decision.Evicted)
	from := 0
	for _, end := range x.ends {
		if end > from {
			c.Requests++
		}
		from = end
	}
	return c
}

// parcels is what a turn fetches from each device of this process.
func (f *fetcher) parcels(x *fetching, devices []gpu.Device) (out []gpu.Parcel) {
	from := 0
	for part, end := range x.ends {
		if devices[part] == nil {
			from = end
			continue
		}
		p := gpu.Parcel{From: devices[part], Ask: idBytes * gpu.Bytes(end-from)}
		for ; from < end; from++ {
			p.Answer += gpu.Bytes(f.g.rowSize(x.fetched(from).ID))
		}
		if p.Ask > 0 {
			out = append(out, p)
		}
	}
	return out
}

// round returns where the rows end that are fetched together, from some on: as many as the area has room for.
func (f *fetcher) round(x *fetching, from int) (to int) {
	left := len(x.area.Bytes())
	for to = from; to < len(x.order); to++ {
		if left -= f.g.rowSize(x.fetched(to).ID); left < 0 {
			break
		}
	}
	return to
}

// ask asks for the next round of rows, if there are any: one request of each owner.
func (f *fetcher) ask(x *fetching) {
	x.to = f.round(x, x.done)
	x.requests, x.list = x.requests[:0], slices.Grow(x.list[:0], x.to-x.done)
	area := x.area.Bytes()
	for k := x.done; k < x.to; k++ {
		id := x.fetched(k).ID
		owner, size := int(f.g.home[id]), f.g.rowSize(id)
		if n := len(x.requests); n == 0 || x.requests[n-1].owner != owner {
			x.requests = append(x.requests, request{owner: owner, ids: x.list[len(x.list):], area: area[:0]})
		}
		r := &x.requests[len(x.requests)-1]
		x.list = append(x.list, id)
		r.ids, r.area, area = r.ids[:len(r.ids)+1], r.area[:len(r.area)+size], area[size:]
	}
	if len(x.requests) > 0 {
		x.events = f.service.ask(x.requests)
	}
}

// collect puts the rows of a slot where the device reads them, those that are fetched when they have come, and into
// the cache what is kept of them.
func (f *fetcher) collect(s *slot) error {
	for k := range s.turns {
		if err := f.bring(&s.turns[k]); err != nil {
			return err
		}
	}
	return nil
}

// bring is collect of the units that fetch together.
func (f *fetcher) bring(x *fetching) error {
	start, waited, sparse := time.Now(), time.Duration(0), f.g.sparse() != nil
	for u := range x.units {
		d := &x.units[u]
		if sparse {
			d.begins(ptr(d.host, d.layout.in.X.Sparse)[:0], &f.g.p.Features)
		}
		switch {
		case f.g.whole != nil:
			d.kept = slices.Grow(d.kept[:0], len(d.ids()))[:len(d.ids())]
		case !f.g.near:
			f.g.seatOwn(d)
		}
	}
	f.seatHits(x)
	for x.done < len(x.order) {
		began := time.Now()
		if err := f.await(x); err != nil {
			return err
		}
		waited += time.Since(began)
		f.land(x)
		if x.done = x.to; x.done < len(x.order) {
			f.ask(x)
		}
	}
	for u := range x.units {
		if sparse {
			f.g.spreadSparse(&x.units[u])
		}
	}
	x.units[0].counts.Time.Stage += time.Since(start) - waited
	return nil
}

// seatHits seats the rows that the cache has had since before the turn.
func (f *fetcher) seatHits(x *fetching) {
	f.g.each(len(x.decision.From), func(lo, hi int) {
		for row := lo; row < hi; row++ {
			if slot := x.decision.From[row]; slot >= 0 {
				f.seat(x, int32(row), slot, f.slot(slot)[:f.g.rowSize(x.ids[row])])
			}
		}
	})
}

// seat puts a row, which may have a slot, wherever units read it; or the slot, where the device reads that.
func (f *fetcher) seat(x *fetching, row, slot int32, packed []byte) {
	for k := x.first[row]; k >= 0; k = x.places[k].next {
		p := &x.places[k]
		d := &x.units[p.unit]
		if f.g.whole != nil {
			d.kept[p.at] = slot
		} else {
			f.g.seat(d, d.host, int(p.at), packed)
		}
	}
}

// slot is where the cache keeps a row.
func (f *fetcher) slot(k int32) []byte { return f.cache.Bytes()[int(k)*f.row:][:f.row] }

// land seats the rows of the round that has come, and keeps what is to be kept.
func (f *fetcher) land(x *fetching) {
	x.at = x.at[:0]
	end := 0
	for k := x.done; k < x.to; k++ {
		x.at = append(x.at, end)
		end += f.g.rowSize(x.fetched(k).ID)
	}
	x.at = append(x.at, end)
	f.g.each(x.to-x.done, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			r, row := x.fetched(x.done+i), x.area.Bytes()[x.at[i]:x.at[i+1]]
			if r.Row >= 0 {
				f.seat(x, r.Row, r.Slot, row)
			}
			if r.Slot >= 0 { // no other row of the turn has it
				copy(f.slot(r.Slot), row)
			}
		}
	})
}

// await waits until the rows of the round under way are in the area.
func (f *fetcher) await(x *fetching) error {
	for i, r := range x.requests {
		f.due.Store(int32(x.step % f.epoch))
		f.awaited.Store(int32(r.owner))
		err := meet.Guard(func() { meet.Receive(f.hub, x.events[i].Done(), f.g.part, r.owner, "rows") })
		if err != nil {
			blamed(err, rowsOf(r.owner))
			if late := waited(err); late != nil {
				late.Epoch = x.step / f.epoch
			}
			return err
		}
		if err := f.failed(); err != nil {
			return err
		}
	}
	f.awaited.Store(-1) // not behind an error: who waits for the step may give up at the same time, and ask why
	return nil
}

// failed returns what went wrong with rows that were asked for.
func (f *fetcher) failed() error {
	if err := f.service.fault(); err != nil {
		return fmt.Errorf("part %d: fetch rows of other parts: %w", f.g.part, err)
	}
	return nil
}

// waits returns what the fetcher waits for, "" if for nothing.
func (f *fetcher) waits() string {
	if owner := f.awaited.Load(); owner >= 0 {
		return rowsOf(int(owner))
	}
	return ""
}

// rowsOf is what a part waits for that has asked another one for rows.
func rowsOf(owner int) string { return fmt.Sprintf("part %d: rows", owner) }

// blamed says in the error of a part that has waited too long, or that another part has ended the run, what it was
// waiting for. Who answers for rows is not what trains at their owner: so nobody is to look for what that waits
// for.
func blamed(err error, what string) {
	if late := waited(err); late != nil {
		late.For, late.What = late.Part, what
	}
}

// waited returns what a part was waiting for that reports an error; nil: nothing.
func waited(err error) *meet.Late {
	late, echo := new(meet.Late), new(meet.Echo)
	switch {
	case errors.As(err, &echo):
		return echo.Wait
	case errors.As(err, &late):
		return late
	}
	return nil
}
