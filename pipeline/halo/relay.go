package halo

import (
	"fmt"
	"slices"
	"time"

	"capgnn/gpu"
	"capgnn/internal/meet"
	"capgnn/jaca"
	"capgnn/pipeline/link"
)

// relay is one part's side of one exchange.
type relay struct {
	*side
	sender
	receiver
	beyond *relay // of the rows that cross between ranks, which lie in the same halo matrix; nil: none do
}

// both returns the relay and that of rows that cross, if there is one.
func (r *relay) both() []*relay {
	if r.beyond == nil {
		return []*relay{r}
	}
	return []*relay{r, r.beyond}
}

// lags reports whether rows may be used in the epoch behind the one that made them.
func (r *relay) lags() bool { return r.pipelined }

// begin packs rows on queue q and tells their readers. shared is where those wait that are used at once.
func (r *relay) begin(q gpu.Queue, shared *sendBuffer, rows gpu.Matrix, epoch int) {
	blocks := r.due(epoch)
	box := r.own
	if r.atOnce(epoch) {
		box = shared
	}
	r.send(q, box, rows, epoch, blocks)
	if again := r.later(epoch); r.atOnce(epoch) && len(again) > 0 {
		r.send(q, r.own, rows, epoch, again)
	}
}

// wait returns the halo matrix as q may read it behind what has been enqueued. Before packed the part's own rows are not packed, and
// what the matrix held is read.
func (r *relay) wait(q gpu.Queue, packed gpu.Event, epoch int) gpu.Matrix {
	blocks := r.due(epoch)
	if r.atOnce(epoch) {
		r.now.queue.Wait(packed)
		for _, e := range r.arrived { // brought ahead for a schedule that holds no more
			r.now.queue.Wait(e)
		}
		r.renewal.discard()
		r.ahead.discard()
		r.fetch(&r.now, epoch, blocks)
		r.arrived = append(r.arrived, r.now.queue.Record())
	}
	for _, in := range []*fetchQueue{&r.now, &r.renewal, &r.ahead} {
		r.settle(q, in)
	}
	for _, e := range r.arrived {
		q.Wait(e)
	}
	r.arrived = r.arrived[:0]
	start := time.Now()
	r.check(epoch)
	r.count(blocks)
	if r.stats == &r.ep.stats { // not in an evaluation
		r.ep.checking += time.Since(start)
	}
	return r.halo
}

// side is what sending and receiving share.
type side struct {
	*traffic
	ep    *Endpoint
	hub   *meet.Hub
	fresh bool // its rows are used in the epoch that makes them, beside others that have an epoch of time: they take the fresh queues
	stats *jaca.Stats
	net   *link.Net // to other ranks; nil: there is one process
}

// sender packs rows of its part and tells their readers. Block b is rows list[at[b]:at[b+1]] of the part, readers in part order, then those for the global
// cache; or, of rows that cross, rank by rank those that are read directly, then rank by rank those for the ranks' global caches: what is by reader is by the place in traffic.senders.
type sender struct {
	*side
	own      *sendBuffer // where rows wait that are used in the next epoch; nil: nothing does
	list     gpu.Ints
	at       []int
	vertices gpu.Ints // original ids of this part's rows, and seed: for encode
	seed     uint64
	leaving  []leaving   // rows for other ranks
	areas    [2]uint32   // at other ranks, in which its rows arrive that are used at once, and in the next epoch
	to       [][]int     // [block][reader]: where its rows begin in list, and at last where those of all readers end
	last     []gpu.Event // by class: the part's block in the global cache has been published; nil: never
}

// receiver brings the rows that its part reads. What is by owner is by the place in reader.owners.
type receiver struct {
	*side
	mine             *reader
	bound            int        // on the age of rows, in epochs
	halo             gpu.Matrix // what aggregations read
	local, transient gpu.Matrix // its local rows, and the others
	made             [][]int    // [block][owner]: epoch that made the rows that came last; −1: none came yet
	books            [][]book   // [class][owner]: what the owner put into the global cache
	pendingTransient []*pendingTransient
	far              []*far   // by owner: how its rows come from another rank; nil: it has none for the part
	coming           *awaited // what other ranks have sent for the next epoch; nil: nothing
	// How rows come that are used at once, those of slots that are refreshed for later epochs, and others ahead of their use.
	now, renewal, ahead fetchQueue
	arrived             []gpu.Event
	inner               []int32 // Placement.Inner
}

// out is the queue that takes rows to the host.
func (r *side) out() gpu.Queue {
	if r.fresh {
		return r.ep.Fresh[1]
	}
	return r.ep.Out
}

// book remembers the two newest generations of a block of the global cache.
type book [2]entry

// entry is what an owner put into the global cache in an epoch.
type entry struct {
	epoch     int
	rows      []byte      // nil: nothing
	pieces    []gpu.Event // each piece of them is there; nil: all are
	published gpu.Event   // they can be checked: all are there; nil: they are
}

// note enters a new generation in place of the older one.
func (b *book) note(e entry) {
	b[1], b[0] = b[0], e
}

// of returns the generation of an epoch.
func (b *book) of(epoch int) (entry, error) {
	for _, e := range b {
		if e.rows != nil && e.epoch == epoch {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("no rows of epoch %d in the global cache", epoch)
}

func (t *traffic) every() []int {
	all := make([]int, 1+t.classes)
	for b := range all {
		all[b] = b
	}
	return all
}

// check ends the epoch unless the rows of every class and owner are those that the schedule promises, none older than
// the bound. It counts their ages.
func (r *receiver) check(epoch int) {
	for b := range r.made {
		for o, made := range r.made[b] {
			n, want := r.mine.direct[b][o].n, r.schedule().Fresh(epoch)
			if b > 0 {
				n += len(r.mine.shared[b-1][o].rows)
				want = r.schedule().Version(b-1, epoch)
			}
			r.use(n, epoch, made, want, b, int(r.mine.owners[o]))
		}
	}
	for c := range r.mine.passing {
		want := r.schedule().Version(c, epoch) // they were read at that version, or not at all
		for o, p := range r.mine.passing[c] {
			r.use(len(p.rows), epoch, want, want, 1+c, int(r.mine.owners[o]))
		}
	}
}

// use counts rows that an epoch uses.
func (r *receiver) use(rows, epoch, made, want, block, owner int) {
	if rows == 0 {
		return
	}
	err := jaca.CheckAge(made, epoch, r.bound)
	if err == nil && made != want {
		err = fmt.Errorf("epoch %d finds rows of epoch %d, the schedule promises %d", epoch, made, want)
	}
	if err != nil {
		what := "without a slot"
		if block > 0 {
			what = fmt.Sprintf("of class %d", block-1)
		}
		meet.Stop(&StaleError{Part: r.ep.Part, Owner: owner, Exchange: r.ID.String(), Rows: what, Err: err})
	}
	r.stats.AgeSum += int64(rows) * int64(epoch-made)
	r.stats.AgeMax = max(r.stats.AgeMax, epoch-made)
}

// count counts the lookups of an epoch.
func (r *receiver) count(blocks []int) {
	s := r.stats
	hits := int64(0)
	s.Lookups += int64(r.mine.lookups)
	for c, n := range r.mine.slots {
		s.Covered += int64(n.local + n.passing)
		if !slices.Contains(blocks, 1+c) {
			s.LocalHits += int64(n.local)
			s.GlobalHits += int64(n.passing)
			hits += int64(n.local + n.passing)
		}
	}
	s.Misses += int64(r.mine.lookups) - hits
}

// StaleError says that halo rows are not of the epoch that the schedule promises: the staleness bound cannot be vouched for.
type StaleError struct {
	Part     int    // that reads the rows
	Owner    int    // part that makes them
	Exchange string // such as "layer 1 forward"
	Rows     string // such as "of class 3"
	Err      error
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("part %d, %s, rows %s from part %d: %v", e.Part, e.Exchange, e.Rows, e.Owner, e.Err)
}

func (e *StaleError) Unwrap() error { return e.Err }
