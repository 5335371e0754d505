package jaca

// Replay runs the caches of a plan through epochs without moving anything.
//
// Returns: what each lookup finds and moves, and the sums.
//
// Method: exchanges run in order; in each, parts read in ascending order, and a part reads its rows by owner and halo
// index. A lookup tries the local cache first, then the global cache, if the local one does not have the wanted
// version.
//
// Why: the trainer reads in this order, so its counters must equal these, and fifo and lru depend on it.
type Replay struct {
	plan      *Plan
	schedules []Schedule // by exchange
	local     [][]*kept  // by exchange and part
	global    []*kept    // by exchange
}

// kept is a cache with the epochs of its slots' rows.
type kept struct {
	Cache
	made     []int // by slot: epoch that the rows in it are of; −1 = nothing yet
	admitted []int // by slot: the first epoch of which it held rows of this vertex
}

// Lookup is what one read of a row finds and does.
type Lookup struct {
	Exchange, Part, Owner int
	Halo                  int32
	Local, Global         int32 // slots after the read, −1 = none
	Covered               bool
	Route                 Route
	Version               int  // epoch of the rows that the reader uses
	Refresh               bool // what moves to the reader renews a local slot
	Renew                 bool // what the owner publishes renews a global slot
}

// Route is how a row reaches its reader in an epoch.
type Route uint8

// The routes.
const (
	Stays     Route = iota // nothing moves: a local hit
	Fetched                // global cache → reader: a global hit
	Followed               // the same, in an epoch in which the owner has published the row for another reader
	Published              // owner → global cache → reader
	Direct                 // owner → reader, by peer copy or through the host
)

// NewReplay returns the replay of a plan, its caches empty, by a schedule per exchange whose period is the table's.
func NewReplay(p *Plan, schedules []Schedule) *Replay {
	if len(schedules) != len(p.Tables) {
		panic("jaca: replay needs a schedule per exchange")
	}
	r := &Replay{plan: p, schedules: schedules}
	for e, t := range p.Tables {
		if schedules[e].Period != t.Period {
			panic("jaca: the schedule's period is not the table's")
		}
		var locals []*kept
		for i := range t.Readers {
			locals = append(locals, t.localCache(i, p.Capacities.Local[i]))
		}
		r.local = append(r.local, locals)
		r.global = append(r.global, t.globalCache(p.Capacities.Global))
	}
	return r
}

func newKept(c Cache, slots int) *kept {
	k := &kept{Cache: c, made: make([]int, slots), admitted: make([]int, slots)}
	for i := range k.made {
		k.made[i] = -1
	}
	return k
}

func (t *Table) localCache(part, slots int) *kept {
	r := &t.Readers[part]
	if t.policy.Dynamic() {
		rows := len(r.Place)
		return newKept(NewCache(t.policy, rows, slots), min(slots, rows))
	}
	pins := newLinks(len(r.Place))
	for s, k := range r.Local {
		pins[k] = int32(s)
	}
	return newKept(pinned(pins), len(r.Local))
}

func (t *Table) globalCache(slots int) *kept {
	rows := len(t.ix.ids)
	if t.policy.Dynamic() {
		return newKept(NewCache(t.policy, rows, slots), min(slots, rows))
	}
	pins := newLinks(rows)
	for i := range t.Readers {
		for k, row := range t.ix.rowOf[i] {
			if row >= 0 {
				pins[row] = t.Readers[i].Global[k]
			}
		}
	}
	return newKept(pinned(pins), len(t.Global))
}

// class returns the refresh class of a halo row, −1 for rows that a static policy gives no slot.
func (t *Table) class(part int, halo int32) int {
	if !t.policy.Dynamic() {
		return int(t.Readers[part].Class[halo])
	}
	return int(t.ix.rowOf[part][halo]) % t.Period
}

// Exchange replays one exchange of an epoch. Epochs come in order from the schedule's Start, exchanges of an epoch in order.
func (r *Replay) Exchange(e, epoch int, visit func(Lookup)) {
	t := r.plan.Tables[e]
	for i := range t.Halos {
		t.Halos[i].each(func(owner, k int) { visit(r.read(e, i, int(t.Halos[i].Owners.Parts[owner]), int32(k), epoch)) })
	}
}

// read is one lookup.
func (r *Replay) read(e, part, owner int, halo int32, epoch int) Lookup {
	t, s := r.plan.Tables[e], r.schedules[e]
	l := Lookup{Exchange: e, Part: part, Owner: owner, Halo: halo, Global: -1, Version: s.Fresh(epoch)}
	class := t.class(part, halo)
	if class < 0 {
		l.Local, l.Route = -1, Direct
		return l
	}
	newest := Schedule{Period: s.Period, Start: s.Start}.Version(class, epoch) // that there is to be
	local, global := r.local[e][part], r.global[e]
	var held bool
	if l.Local, held = local.Read(halo); held {
		l.Covered = true
		if local.made[l.Local] >= newest {
			l.Version = max(s.Version(class, epoch), local.admitted[l.Local])
			return l
		}
	}
	var shared bool
	l.Global, shared = global.Read(t.ix.rowOf[part][halo])
	l.Covered = l.Covered || shared
	made := epoch
	switch {
	case l.Global < 0:
		l.Route = Direct
	case shared && global.made[l.Global] >= newest:
		made = global.made[l.Global]
		if l.Route = Fetched; made == epoch {
			l.Route = Followed
		}
	default:
		l.Route, l.Renew = Published, shared && global.made[l.Global] >= 0
		global.keep(l.Global, epoch, !shared)
	}
	l.Refresh = held && local.made[l.Local] >= 0
	if l.Local >= 0 {
		local.keep(l.Local, made, !held)
	}
	if l.Local >= 0 && local.admitted[l.Local] < epoch {
		l.Version = max(s.Version(class, epoch), local.admitted[l.Local])
	} else if l.Global >= 0 && global.admitted[l.Global] < epoch {
		l.Version = max(s.Version(class, epoch), global.admitted[l.Global])
	}
	return l
}

// keep records that a slot now holds a row of an epoch, and whether it held another vertex's row before.
func (k *kept) keep(slot int32, epoch int, another bool) {
	if another || k.made[slot] < 0 {
		k.admitted[slot] = epoch
	}
	k.made[slot] = epoch
}

// Epoch replays all exchanges of an epoch and counts.
func (r *Replay) Epoch(epoch int) Stats {
	var s Stats
	for e := range r.plan.Tables {
		r.Exchange(e, epoch, func(l Lookup) { s.count(&l, r.plan, epoch) })
	}
	return s
}

// Run replays epochs [from, to) and returns their sum.
func (r *Replay) Run(from, to int) Stats {
	var s Stats
	for t := from; t < to; t++ {
		s.Add(r.Epoch(t))
	}
	return s
}

// count adds a lookup.
func (s *Stats) count(l *Lookup, p *Plan, epoch int) {
	b := p.Tables[l.Exchange].wire()
	s.Lookups++
	if l.Covered {
		s.Covered++
	}
	switch l.Route {
	case Stays:
		s.LocalHits++
	case Fetched:
		s.GlobalHits++
		s.Bytes.H2D += b
	case Followed:
		s.Misses++
		s.Bytes.H2D += b
	case Published:
		s.Misses++
		s.Bytes.D2H += b
		s.Bytes.H2D += b
	case Direct:
		s.Misses++
		if peer, _, _ := p.Links.direct(l.Owner, l.Part); peer {
			s.Bytes.Peer += b
		} else {
			s.Bytes.D2H += b
			s.Bytes.H2D += b
		}
	}
	if l.Renew {
		s.Bytes.Refresh += b
	}
	if l.Refresh {
		s.Bytes.Refresh += b
		if l.Route == Direct {
			if peer, _, _ := p.Links.direct(l.Owner, l.Part); !peer {
				s.Bytes.Refresh += b
			}
		}
	}
	age := epoch - l.Version
	s.AgeSum += int64(age)
	s.AgeMax = max(s.AgeMax, age)
}
