package minibatch

import (
	"sync"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/together"
	"capgnn/internal/trainer"
	"capgnn/minibatch/rowcache"
)

// snapshotEvery is how many turns lie between two snapshots of a policy: a run that is resumed decides those since the last one again.
const snapshotEvery = 64

// snapshot is a policy before a turn.
type snapshot struct {
	Turn  int
	Slots int
	Rules rowcache.Rules
	state []byte // of rowcache.Policy.Save
}

// snapshots are the newest ones of a policy. They are safe for use by several goroutines.
type snapshots struct {
	ahead int // how many turns at most are decided and not done
	mu    sync.Mutex
	list  []snapshot // ascending
}

// add adds a newer one, and drops those that no run needs to go on from.
func (s *snapshots) add(x snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, x)
	for len(s.list) > 1 && s.list[1].Turn <= x.Turn-s.ahead {
		s.list = s.list[1:]
	}
}

// due reports whether a turn is long enough behind the newest one.
func (s *snapshots) due(turn int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.list)
	return n == 0 || turn-s.list[n-1].Turn >= snapshotEvery
}

// before returns the newest one that is not behind a turn; nil: there is none.
func (s *snapshots) before(turn int) (best *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.list {
		if s.list[i].Turn <= turn {
			best = &s.list[i]
		}
	}
	return best
}

// newFetcher returns what fetches rows for a worker, whose stage and feed it has; nil: there is nothing to fetch.
func (t *Trainer) newFetcher(w *worker) (*fetcher, error) {
	if !t.o.fetches() {
		return nil, nil
	}
	g := &w.stage
	near := &neighbours{g: g, devices: t.o.Devices}
	_, clocked := w.Device.(gpu.Clocked)
	if r, ok := w.Device.(gpu.Resident); ok {
		w.rows = r.NewResidentQueue("rows")
		if w.Has(w.rows); !clocked {
			near.queue = w.rows
		}
	}
	f := &fetcher{hub: meet.NewHub(t.Hub.Context(), t.o.WaitDeadline), epoch: t.roots.steps, g: g, rules: t.o.Sampling.Fetch, service: near, charged: clocked && w.rows != nil, slots: t.design.slots[w.Index], row: t.design.row,
		arena: hostmem.NewArena(g.device, 0), turns: 1, keeps: t.o.CheckpointDir != "" && t.o.Sampling.Fetch.Kind != rowcache.Demand}
	if near.queue != nil {
		f.linked = make([]bool, len(t.o.Devices))
		for part, dev := range t.o.Devices {
			f.linked[part] = dev != nil && dev != w.Device
		}
	}
	if g.apart {
		f.turns = g.roots.units
	}
	f.snapshots.ahead = 2 * len(w.feed.slots) * f.turns
	f.awaited.Store(-1)
	for _, s := range w.feed.slots {
		s.turns = make([]fetching, f.turns)
		for k := range s.turns {
			x := &s.turns[k]
			if x.units = s.units; f.turns > 1 {
				x.units = s.units[k : k+1]
			}
			var err error
			if x.area, err = f.arena.Alloc(int64(t.design.areas[w.Index]), "rows of other parts"); err != nil {
				return f, err
			}
		}
	}
	return f, f.room()
}

func (f *fetcher) room() (err error) {
	f.cache, err = f.arena.Alloc(int64(f.slots)*int64(f.row), "row cache")
	return err
}

// worldOf returns what a part's policy may know, but for the turns ahead.
func worldOf(p *learn.Problem, o *Options, epoch, part int) rowcache.World {
	w := rowcache.World{Vertices: p.Vertices(), Remote: remoteOf(o, part), Steps: epoch, Degree: func(v graph.NodeID) int { return len(p.Graph.Row(int(v))) }}
	if o.Sampling.Fetch.Kind == rowcache.Massive {
		w.Halo = rowcache.Halo(p.Graph, o.Part, int32(part))
	}
	return w
}

// remoteOf returns how many vertices have another home than a part.
func remoteOf(o *Options, part int) (n int) {
	for _, home := range o.Part {
		if int(home) != part {
			n++
		}
	}
	return n
}

// fetch makes the fetchers of all parts ready for the steps from one on, and at first fills their caches again where the run goes on from another one.
func (t *Trainer) fetch(from int, first bool) error {
	refilled := make([]int64, len(t.workers))
	err := t.each(func(w *worker) (err error) {
		f := w.fetcher
		if f == nil {
			return nil
		}
		if first {
			refilled[w.At], err = f.begin(t, from*f.turns, t.state.cache(w.Index))
		} else {
			f.see(t, from*f.turns)
		}
		return err
	})
	if err != nil || !first {
		return err
	}
	if refilled, err = together.Gather(t.Hub.Context(), t.Talk(), trainer.TagRefilled, refilled); err != nil {
		return err
	}
	for _, n := range refilled {
		t.state.Totals.Refilled += n
	}
	return nil
}

// begin makes the fetcher ready for a turn. saved is of the run that this one goes on from; nil: there is none.
func (f *fetcher) begin(t *Trainer, from int, saved *snapshot) (refilled int64, err error) {
	if saved != nil && t.o.Sampling.RowCache.Unit == CacheFree && saved.Slots != f.slots {
		f.cache.Free()
		f.slots = saved.Slots
		if err := f.room(); err != nil {
			return 0, err
		}
	}
	if saved != nil && (saved.Slots != f.slots || saved.Rules != f.rules || saved.Turn > from) {
		t.o.Log.Info("the row cache begins empty: the run was stopped with another size or another way to fetch", "part", f.g.part)
		saved = nil
	}
	first := from
	if saved != nil {
		first = saved.Turn
	}
	world := worldOf(t.p, &t.o, t.roots.steps*f.turns, f.g.part)
	if f.rules.Reach(world.Steps, f.slots, world.Remote) > 0 {
		f.lookahead = newLookahead(f.g, t.design.sampler(t.p), f.turns, mostKept/gpu.Bytes(len(t.o.Devices)))
		f.g.lookahead = f.lookahead
		f.lookahead.start(first, t.horizon(first/f.turns)*f.turns)
		world.Ahead = func(turn int) ([]graph.NodeID, bool) { return f.lookahead.ahead(f.hub, turn) }
	}
	if f.g.near {
		f.g.whole = nil
		if keepsAll(f.rules, f.slots, world.Remote) {
			f.g.whole = f
		}
		f.g.gathers = f.g.whole == nil
	}
	f.policy = rowcache.New(f.rules, f.slots, world)
	if saved == nil {
		return 0, nil
	}
	if err := f.policy.Restore(saved.state); err != nil {
		return 0, err
	}
	return f.catchUp(t, first, from)
}

// see has the policy look as far ahead as it may while a turn is decided.
func (f *fetcher) see(t *Trainer, turn int) {
	if f.lookahead != nil {
		f.lookahead.extend(t.horizon(turn/f.turns) * f.turns)
	}
}

// catchUp decides some turns again, and fetches the rows that the cache has behind them.
func (f *fetcher) catchUp(t *Trainer, first, from int) (refilled int64, err error) {
	again := newLookahead(f.g, t.design.sampler(t.p), f.turns, 0)
	var x fetching
	for turn := first; turn < from; turn++ {
		f.see(t, turn)
		x.ids = again.list(turn, x.ids[:0], nil)
		x.step = turn / f.turns
		if err := f.choose(turn, &x); err != nil {
			return 0, err
		}
	}
	f.see(t, from)
	x = fetching{step: from / f.turns, area: t.workers[f.g.part-t.own().Lo].feed.slots[0].turns[0].area}
	for slot, id := range f.policy.Held() {
		if id >= 0 {
			x.decision.Fetch = append(x.decision.Fetch, rowcache.Fetched{ID: id, Slot: int32(slot), Row: -1})
		}
	}
	x.sort(f.g)
	for x.done < len(x.order) {
		f.ask(&x)
		if err := f.await(&x); err != nil {
			return 0, err
		}
		f.land(&x)
		x.done = x.to
	}
	return int64(len(x.order)), nil
}

// keep takes a snapshot before a turn, where one is due.
func (f *fetcher) keep(turn int) {
	if f.keeps && f.snapshots.due(turn) {
		f.snapshots.add(snapshot{turn, f.slots, f.rules, f.policy.Save()})
	}
}

// close gives memory up. Its goroutines are the feed's, and have ended.
func (f *fetcher) close() { f.arena.Close() }
