package dynamic

import (
	"fmt"
	"slices"

	"capgnn/jaca"
)

// Agenda is what an exchange moves in an epoch, by part.
type Agenda struct {
	Sends []Sending
	Gets  []Getting
}

// Span is n rows from the first one on.
type Span struct{ First, N int }

// Sending is what a part packs: rows that go straight to each reader, then those that it publishes on the host.
type Sending struct {
	List      []int32 // rows of the part
	To        []Span  // by the place in Exchange.Senders: of List
	Published Span    // of List
	Puts      []Put
}

// Put says that a published row stays in the global cache.
type Put struct {
	At  int   // place among the published rows
	Row int32 // of hostmem.Slots
}

// Picked is rows of host memory, in the order of the arrivals that they become, from the first one on.
type Picked struct {
	First int
	Rows  []int32
}

// Getting is where a part's halo rows come from. By owner is by the place in Reader.Owners. They arrive by owner: straight, then published
// ones; at last those that the global cache holds of earlier epochs.
type Getting struct {
	Direct  []Span     // by owner: of the arrivals
	Shared  []Picked   // by owner: arrivals, as places among what the owner publishes
	Cached  Picked     // arrivals, as rows of hostmem.Slots
	Made    []int      // epochs of these
	From    []int32    // by halo index: local slot, or number of local slots + arrival; of rows that nothing reads any that is read
	Renewed []int32    // by local slot: halo index of the row that it holds from now on; nil: all stay
	Stats   jaca.Stats // without bytes by route, which copies count
}

// booking collects the lookups of an exchange in an epoch.
type booking struct {
	x         *Exchange
	epoch     int
	direct    [][][]int32       // [reader][place of the owner]: halo indices
	shared    [][][]publication // the same
	cached    [][]publication   // [reader]: at = row of hostmem.Slots
	made      [][]int           // the same: epochs
	renewed   []bool            // [reader]
	published [][]int32         // [owner]: rows of the part
	where     map[int32]holding // by global slot: what was published into it
	order     []int32           // keys of where
	gets      []Getting
	err       error
}

// publication is a halo row that is read from host memory.
type publication struct{ halo, at int32 }

// holding is a published row.
type holding struct {
	owner int
	at    int32
}

func newBooking(x *Exchange, epoch int) *booking {
	parts := len(x.Readers)
	b := &booking{x: x, epoch: epoch, published: make([][]int32, parts), where: map[int32]holding{},
		cached: make([][]publication, parts), made: make([][]int, parts), renewed: make([]bool, parts)}
	for i := range parts {
		owners := len(x.Readers[i].Owners)
		b.direct, b.shared = append(b.direct, make([][]int32, owners)), append(b.shared, make([][]publication, owners))
		b.gets = append(b.gets, Getting{From: slices.Repeat([]int32{-1}, len(x.Readers[i].IDs))})
	}
	return b
}

// look enters a lookup.
func (b *booking) look(l jaca.Lookup) {
	x, made := b.x, b.epoch
	switch l.Route {
	case jaca.Stays:
		made = x.local[l.Part][l.Local].made
		b.gets[l.Part].From[l.Halo] = l.Local
	case jaca.Fetched:
		made = x.global[l.Global].made
		b.cached[l.Part] = append(b.cached[l.Part], publication{l.Halo, 2*l.Global + x.last[l.Global]})
		b.made[l.Part] = append(b.made[l.Part], made)
	case jaca.Published:
		if _, again := b.where[l.Global]; !again {
			b.order = append(b.order, l.Global)
		}
		b.where[l.Global] = holding{l.Owner, int32(len(b.published[l.Owner]))}
		b.published[l.Owner] = append(b.published[l.Owner], x.LocalOf[x.Readers[l.Part].IDs[l.Halo]])
		fallthrough
	case jaca.Followed:
		at := b.place(&l)
		b.shared[l.Part][at] = append(b.shared[l.Part][at], publication{l.Halo, b.where[l.Global].at})
	case jaca.Direct:
		at := b.place(&l)
		b.direct[l.Part][at] = append(b.direct[l.Part][at], l.Halo)
	}
	if l.Local >= 0 && l.Route != jaca.Stays {
		x.local[l.Part][l.Local] = held{l.Halo, made}
		b.renewed[l.Part] = true
	}
	b.count(&l, made)
}

// place returns the place of a lookup's owner among those of its reader.
func (b *booking) place(l *jaca.Lookup) int {
	at, _ := slices.BinarySearch(b.x.Readers[l.Part].Owners, int32(l.Owner))
	return at
}

// count counts a lookup whose row is of epoch made. Rows of another epoch than the rules name, or older than the bound, end the
// run.
func (b *booking) count(l *jaca.Lookup, made int) {
	err := jaca.CheckAge(made, b.epoch, b.x.Bound)
	if err == nil && made != l.Version {
		err = fmt.Errorf("epoch %d finds rows of epoch %d, the policy names %d", b.epoch, made, l.Version)
	}
	if err != nil && b.err == nil {
		b.err = b.x.Stale(l.Part, l.Owner, fmt.Sprintf("at %d", l.Halo), err)
	}
	s := &b.gets[l.Part].Stats
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
	wire := b.x.Row
	if l.Renew {
		s.Bytes.Refresh += wire
	}
	if l.Refresh {
		s.Bytes.Refresh += wire
		if l.Route == jaca.Direct && !b.x.Reach(l.Part, l.Owner) {
			s.Bytes.Refresh += wire
		}
	}
	s.AgeSum += int64(b.epoch - made)
	s.AgeMax = max(s.AgeMax, b.epoch-made)
}

// close returns the agenda, and notes what the caches hold behind it.
func (b *booking) close() *Agenda {
	a := &Agenda{Gets: b.gets}
	x := b.x
	for i := range b.gets {
		b.arrivals(i)
		fillUnread(b.gets[i].From)
		if b.renewed[i] {
			b.gets[i].Renewed = occupants(x.local[i])
		}
	}
	for o := range b.published {
		s := Sending{}
		for _, to := range x.Senders[o] {
			first := len(s.List)
			for _, k := range b.direct[to.Reader][to.At] {
				s.List = append(s.List, x.LocalOf[x.Readers[to.Reader].IDs[k]])
			}
			s.To = append(s.To, Span{first, len(s.List) - first})
		}
		s.Published = Span{len(s.List), len(b.published[o])}
		s.List = append(s.List, b.published[o]...)
		a.Sends = append(a.Sends, s)
	}
	for _, slot := range b.order {
		w := b.where[slot]
		x.last[slot], x.global[slot].made = 1-x.last[slot], b.epoch
		a.Sends[w.owner].Puts = append(a.Sends[w.owner].Puts, Put{int(w.at), 2*slot + x.last[slot]})
	}
	return a
}

// arrivals gives the rows that come to a part their places.
func (b *booking) arrivals(part int) {
	g, slots := &b.gets[part], len(b.x.local[part])
	n := 0
	at := func(halo int32) {
		g.From[halo] = int32(slots + n)
		n++
	}
	for o := range b.direct[part] {
		g.Direct = append(g.Direct, Span{n, len(b.direct[part][o])})
		for _, k := range b.direct[part][o] {
			at(k)
		}
		s := Picked{First: n}
		for _, p := range b.shared[part][o] {
			s.Rows = append(s.Rows, p.at)
			at(p.halo)
		}
		g.Shared = append(g.Shared, s)
	}
	g.Cached.First, g.Made = n, b.made[part]
	for _, p := range b.cached[part] {
		g.Cached.Rows = append(g.Cached.Rows, p.at)
		at(p.halo)
	}
}

// fillUnread has halo rows that nothing reads come from where one that is read does: memory that somebody has written.
func fillUnread(from []int32) {
	if len(from) == 0 {
		return
	}
	written := max(0, slices.Max(from))
	for k, x := range from {
		if x < 0 {
			from[k] = written
		}
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
