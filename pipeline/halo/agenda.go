package halo

import (
	"fmt"
	"slices"

	"capgnn/hostmem"
	"capgnn/jaca"
)

// dynamicCaches drives the caches of a dynamic policy (fifo, lru, sieve): before each epoch it replays what every read finds, in the
// order that package jaca fixes, and says what every part sends, gets and keeps. It belongs to one goroutine.
type dynamicCaches struct {
	of      *Plan
	traffic []*traffic // of the plan's tables
	replay  *jaca.Replay
	next    int // epoch
}

// dynamicExchange is one exchange under a dynamic policy: what lies in its caches, and what the epoch under way moves.
//
// What is put into a global slot goes to the one of its two rows that was not put last. Reads that find it there in the epoch in
// which it was put take it from where its owner publishes all such rows of the epoch, so slots may change hands within an epoch
// as often as they like.
type dynamicExchange struct {
	local  [][]held       // by part and slot
	global []held         // by slot: the owner is in the row's halo of every reader, so halo is not used
	last   []int32        // by global slot: which of the two rows was put last
	slots  *hostmem.Slots // the global cache; nil: it has none
	today  *agenda
}

// held is what lies in a slot.
type held struct {
	halo int32 // −1: nothing yet
	made int   // epoch
}

// agenda is what an exchange moves in an epoch, by part.
type agenda struct {
	epoch int
	sends []sending
	gets  []getting
}

// sending is what a part packs: rows that go straight to each reader, then those that it publishes on the host.
type sending struct {
	list      []int32  // rows of the part
	to        []extent // by the place in traffic.senders: of list
	published extent   // of list
	puts      []put
}

// put says that a published row stays in the global cache.
type put struct {
	at  int   // place among the published rows
	row int32 // of hostmem.Slots
}

// getting is where a part's halo rows come from. By owner is by the place in reader.owners. They arrive by owner: straight, then published ones; at last those that the
// global cache holds of earlier epochs.
type getting struct {
	direct  []extent    // by owner: of the arrivals
	shared  []selection // by owner: arrivals, as places among what the owner publishes
	cached  selection   // arrivals, as rows of hostmem.Slots
	made    []int       // epochs of these
	from    []int32     // by halo index: local slot, or number of local slots + arrival
	renewed []int32     // by local slot: halo index of the row that it holds from now on; nil: all stay
	stats   jaca.Stats  // without bytes by route, which copies count
}

// newDynamicCaches returns the dynamic caches of the exchanges with caches.
func newDynamicCaches(p *Plan) *dynamicCaches {
	f := &dynamicCaches{of: p}
	for _, l := range p.training {
		if l.dynamic != nil {
			f.traffic = append(f.traffic, l)
		}
	}
	return f
}

// plan sets the agendas of an epoch. Epochs that it has not seen are replayed first: a resumed run finds its caches as they were.
func (f *dynamicCaches) plan(epoch int) error {
	if err := f.reach(epoch); err != nil {
		return err
	}
	return f.step()
}

// reach replays the epochs before one.
func (f *dynamicCaches) reach(epoch int) error {
	if f.replay == nil {
		var schedules []jaca.Schedule
		plan := f.of.caches
		for _, l := range f.traffic {
			schedules = append(schedules, l.schedule())
			plan = plan.Renumber(l.Layer, l.schedule().Period)
			l.dynamic.clear()
			f.next = l.schedule().Start
		}
		f.replay = jaca.NewReplay(plan, schedules)
	}
	for f.next < epoch {
		if err := f.step(); err != nil {
			return err
		}
	}
	return nil
}

// step plans the next epoch.
func (f *dynamicCaches) step() error {
	for e, l := range f.traffic {
		b := newBooking(f.of, l, f.next)
		f.replay.Exchange(e, f.next, b.look)
		if b.err != nil {
			return b.err
		}
		l.dynamic.today = b.close()
	}
	f.next++
	return nil
}

// clear empties the caches.
func (d *dynamicExchange) clear() {
	for _, slots := range append([][]held{d.global}, d.local...) {
		for s := range slots {
			slots[s] = held{-1, -1}
		}
	}
	clear(d.last)
}

// booking collects the lookups of an exchange in an epoch.
type booking struct {
	plan      *Plan
	l         *traffic
	epoch     int
	direct    [][][]int32       // [reader][place of the owner]: halo indices
	shared    [][][]publication // the same
	cached    [][]publication   // [reader]: at = row of hostmem.Slots
	made      [][]int           // the same: epochs
	renewed   []bool            // [reader]
	published [][]int32         // [owner]: rows of the part
	where     map[int32]holding // by global slot: what was published into it
	order     []int32           // keys of where
	gets      []getting
	err       error
}

// publication is a halo row that is read from host memory.
type publication struct{ halo, at int32 }

// holding is a published row.
type holding struct {
	owner int
	at    int32
}

func newBooking(p *Plan, l *traffic, epoch int) *booking {
	parts := len(l.readers)
	b := &booking{plan: p, l: l, epoch: epoch, published: make([][]int32, parts), where: map[int32]holding{},
		cached: make([][]publication, parts), made: make([][]int, parts), renewed: make([]bool, parts)}
	for i := range parts {
		owners := len(l.readers[i].owners)
		b.direct, b.shared = append(b.direct, make([][]int32, owners)), append(b.shared, make([][]publication, owners))
		b.gets = append(b.gets, getting{from: make([]int32, len(l.readers[i].ids))})
	}
	return b
}

// look enters a lookup.
func (b *booking) look(l jaca.Lookup) {
	d, made := b.l.dynamic, b.epoch
	switch l.Route {
	case jaca.Stays:
		made = d.local[l.Part][l.Local].made
		b.gets[l.Part].from[l.Halo] = l.Local
	case jaca.Fetched:
		made = d.global[l.Global].made
		b.cached[l.Part] = append(b.cached[l.Part], publication{l.Halo, 2*l.Global + d.last[l.Global]})
		b.made[l.Part] = append(b.made[l.Part], made)
	case jaca.Published:
		if _, again := b.where[l.Global]; !again {
			b.order = append(b.order, l.Global)
		}
		b.where[l.Global] = holding{l.Owner, int32(len(b.published[l.Owner]))}
		b.published[l.Owner] = append(b.published[l.Owner], b.plan.Cuts.Whole.LocalOf[b.l.readers[l.Part].ids[l.Halo]])
		fallthrough
	case jaca.Followed:
		at := b.place(&l)
		b.shared[l.Part][at] = append(b.shared[l.Part][at], publication{l.Halo, b.where[l.Global].at})
	case jaca.Direct:
		at := b.place(&l)
		b.direct[l.Part][at] = append(b.direct[l.Part][at], l.Halo)
	}
	if l.Local >= 0 && l.Route != jaca.Stays {
		d.local[l.Part][l.Local] = held{l.Halo, made}
		b.renewed[l.Part] = true
	}
	b.count(&l, made)
}

// place returns the place of a lookup's owner among those of its reader.
func (b *booking) place(l *jaca.Lookup) int {
	at, _ := slices.BinarySearch(b.l.readers[l.Part].owners, int32(l.Owner))
	return at
}

// count counts a lookup whose row is of epoch made. Rows of another epoch than the rules name, or older than the bound, end the
// run.
func (b *booking) count(l *jaca.Lookup, made int) {
	err := jaca.CheckAge(made, b.epoch, b.plan.Staleness.Bound)
	if err == nil && made != l.Version {
		err = fmt.Errorf("epoch %d finds rows of epoch %d, the policy names %d", b.epoch, made, l.Version)
	}
	if err != nil && b.err == nil {
		b.err = &StaleError{Part: l.Part, Owner: l.Owner, Exchange: b.l.ID.String(), Rows: fmt.Sprintf("at %d", l.Halo), Err: err}
	}
	s := &b.gets[l.Part].stats
	s.Lookups++
	if l.Covered {
		s.Covered++
	}
	switch l.Route {
	case jaca.Stays:
		s.LocalHits++
	case jaca.Fetched:
		s.GlobalHits++
	default:
		s.Misses++
	}
	wire := b.l.wireRow()
	if l.Renew {
		s.Bytes.Refresh += wire
	}
	if l.Refresh {
		s.Bytes.Refresh += wire
		if l.Route == jaca.Direct && !b.plan.Ends[l.Part].Reach[l.Owner] {
			s.Bytes.Refresh += wire
		}
	}
	s.AgeSum += int64(b.epoch - made)
	s.AgeMax = max(s.AgeMax, b.epoch-made)
}

// close returns the agenda, and notes what the caches hold behind it.
func (b *booking) close() *agenda {
	a := &agenda{epoch: b.epoch, gets: b.gets}
	d := b.l.dynamic
	for i := range b.gets {
		b.arrivals(i)
		if b.renewed[i] {
			b.gets[i].renewed = occupants(d.local[i])
		}
	}
	for o := range b.published {
		s := sending{}
		for _, to := range b.l.senders[o] {
			first := len(s.list)
			for _, k := range b.direct[to.reader][to.at] {
				s.list = append(s.list, b.plan.Cuts.Whole.LocalOf[b.l.readers[to.reader].ids[k]])
			}
			s.to = append(s.to, extent{first, len(s.list) - first})
		}
		s.published = extent{len(s.list), len(b.published[o])}
		s.list = append(s.list, b.published[o]...)
		a.sends = append(a.sends, s)
	}
	for _, slot := range b.order {
		w := b.where[slot]
		d.last[slot], d.global[slot].made = 1-d.last[slot], b.epoch
		a.sends[w.owner].puts = append(a.sends[w.owner].puts, put{int(w.at), 2*slot + d.last[slot]})
	}
	return a
}

// arrivals gives the rows that come to a part their places.
func (b *booking) arrivals(part int) {
	g, slots := &b.gets[part], len(b.l.dynamic.local[part])
	n := 0
	at := func(halo int32) {
		g.from[halo] = int32(slots + n)
		n++
	}
	for o := range b.direct[part] {
		g.direct = append(g.direct, extent{n, len(b.direct[part][o])})
		for _, k := range b.direct[part][o] {
			at(k)
		}
		s := selection{first: n}
		for _, p := range b.shared[part][o] {
			s.rows = append(s.rows, p.at)
			at(p.halo)
		}
		g.shared = append(g.shared, s)
	}
	g.cached.first, g.made = n, b.made[part]
	for _, p := range b.cached[part] {
		g.cached.rows = append(g.cached.rows, p.at)
		at(p.halo)
	}
}

// occupants returns the halo rows in the slots that are in use, which are the first ones.
func occupants(slots []held) []int32 {
	var out []int32
	for _, s := range slots {
		if s.halo < 0 {
			break
		}
		out = append(out, s.halo)
	}
	return out
}
