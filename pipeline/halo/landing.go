package halo

import "capgnn/gpu"

// fetchQueue is a queue that brings halo rows. Rows that cannot be used as they come, since they are encoded or are to be mixed with what their slots hold, land
// in memory of the fetchQueue and wait there until the compute queue makes halo rows of them, just before it reads these (settle).
//
// Why not on the queue that brings them: a device computes one thing after the other. The queue would stand behind sums that take milliseconds, with a link
// that has nothing to do. So landing memory holds all rows that an exchange brings at once, and no transfer waits for a computation.
type fetchQueue struct {
	queue gpu.Queue
	land  gpu.Buffer // nil: all rows can be used as they come
	next  int        // row of land at which the next ones arrive
	rows  []landed
}

// landed is rows that lie one behind the other in landing memory, and in the halo matrix to be.
type landed struct {
	dst, src gpu.Matrix
	there    gpu.Event // they have arrived; nil: they are the last ones, and more may follow
}

// settleBytes is how much of what has landed becomes halo rows at once: a device that waits for rows makes the first of them ready while the last are on
// their way, and an operation takes a multiple of what starting it does.
const settleBytes = 4 * pieceBytes

// close marks the rows that have landed last as arrived behind what the queue has been given.
func (in *fetchQueue) close() {
	if n := len(in.rows); n > 0 && in.rows[n-1].there == nil {
		in.rows[n-1].there = in.queue.Record()
	}
}

// open returns where rows are to be copied to that will be dst.
func (r *side) open(in *fetchQueue, dst gpu.Matrix) gpu.Matrix {
	if r.coding.as == FP32 {
		return dst
	}
	src := r.wire(in.land, in.next, dst.Rows)
	in.next += dst.Rows
	if n := len(in.rows); n > 0 {
		last := &in.rows[n-1]
		size := gpu.Bytes(last.src.Rows+src.Rows) * r.wireRow()
		if last.there == nil && last.dst.Off+last.dst.Rows*last.dst.LD == dst.Off && size <= settleBytes {
			last.dst.Rows, last.src.Rows = last.dst.Rows+dst.Rows, last.src.Rows+src.Rows
			return src
		}
		in.close()
	}
	in.rows = append(in.rows, landed{dst: dst, src: src})
	return src
}

// settle enqueues on q what makes halo rows of those that have landed; the fetchQueue is closed. From then on landing memory is free for operations behind q.
func (r *side) settle(q gpu.Queue, in *fetchQueue) {
	for _, l := range in.rows {
		q.Wait(l.there)
		r.decode(q, l.dst, l.src)
	}
	in.discard()
}

// discard forgets rows that have landed and that nobody will read.
func (in *fetchQueue) discard() {
	clear(in.rows)
	in.rows, in.next = in.rows[:0], 0
}

// landing is the most rows of an exchange that land at a part: those that are used at once, those that are refreshed for later epochs, and those without a
// slot that come ahead.
type landing struct{ once, later, ahead int }

// landing returns what lands of an exchange at a part.
func (t *traffic) landing(part int) (n landing) {
	r := &t.readers[part]
	if t.coding.as == FP32 {
		return n
	}
	n.once = r.lookups
	for c := range t.classes {
		due := 0
		for o := range r.owners {
			due += r.direct[1+c][o].n + len(r.shared[c][o].rows)
		}
		n.later = max(n.later, due)
	}
	n.once = max(n.once, n.later)
	switch {
	case !t.pipelined:
		n.later = 0
	case t.keeps:
		n.later += r.without()
	default:
		n.ahead = r.without()
	}
	return n
}

// without returns how many rows without a local slot come to the part.
func (r *reader) without() int {
	n := 0
	for _, d := range r.direct[0] {
		n += d.n
	}
	for _, owners := range r.passing {
		n += rowsOf(owners)
	}
	return n
}

// landings gives the fetchQueues of training their memory: one piece for rows that are used at once, which lands the rows of one exchange after the other; two for
// those that come ahead by turns; and one for each exchange that refreshes rows for later epochs. Rows that cross between ranks have such memory of their own.
func (a *attachment) landings(train *Exchange, across bool) {
	var once gpu.Bytes
	var ahead [2]gpu.Bytes
	turn := map[*relay]int{}
	for k, r := range train.turns {
		turn[r] = k % 2
	}
	relays := train.relays
	if across {
		relays = nil
		for _, r := range train.relays {
			turn[r.beyond] = turn[r]
			relays = append(relays, r.beyond)
		}
	}
	for _, r := range relays {
		n := r.landing(a.ep.Part)
		once = max(once, r.wireRow()*gpu.Bytes(n.once))
		ahead[turn[r]] = max(ahead[turn[r]], r.wireRow()*gpu.Bytes(n.ahead))
		r.renewal.land = a.arrival(r.wireRow() * gpu.Bytes(n.later))
	}
	shared, turns := a.arrival(once), [2]gpu.Buffer{a.arrival(ahead[0]), a.arrival(ahead[1])}
	for _, r := range relays {
		r.now.land, r.ahead.land = shared, turns[turn[r]]
	}
}

// arrival takes memory in which rows land, if any do.
func (a *attachment) arrival(n gpu.Bytes) gpu.Buffer {
	if n == 0 {
		return nil
	}
	return a.ep.Memory.Alloc(n, "arriving halo rows")
}

// landingNeed returns what landing takes of a part's device at most, whatever slots rows get.
func landingNeed(training []*traffic, part int) gpu.Bytes {
	var once, ahead, later gpu.Bytes
	for _, l := range training {
		if l.coding.as == FP32 {
			continue
		}
		n := l.wireRow() * gpu.Bytes(len(l.readers[part].ids))
		if once = max(once, n); l.pipelined {
			ahead, later = max(ahead, n), later+n+slotAlign
		}
	}
	return once + 2*ahead + later + 3*slotAlign
}
