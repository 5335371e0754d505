package halo

import (
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// far is how a part reads the rows that one of another rank sends.
type far struct {
	*crossing
	once, later *arrivals // of rows that are used at once, and in the next epoch
	rows        [][]int32 // messageReader.rows
	seen        *int64    // the last message of once that the part has gone by, in any exchange
	last        int64     // the same of later
}

// awaited is a message that is on its way for the next epoch.
type awaited struct {
	epoch   int // that made its rows
	blocks  []int
	renewed bool // what has slots has been taken out of it
}

// farOwners returns, by place of an owner, how its rows come from another rank; nil: it has none for the part.
func (a *attachment) farOwners(l *traffic, mine *reader) []*far {
	out := make([]*far, len(mine.owners))
	if l.crossings == nil {
		return out
	}
	for at, o := range mine.owners {
		x := l.crossingTo(a.Net.Rank(), int(o))
		if x == nil {
			continue
		}
		k := slices.IndexFunc(x.readers, func(y messageReader) bool { return y.part == a.ep.Part })
		if k < 0 {
			continue
		}
		if a.seen[int(o)] == nil {
			none := int64(-1)
			a.seen[int(o)] = &none
		}
		out[at] = &far{last: -1, crossing: x, once: a.arriving[a.area(l, int(o), false)], later: a.arriving[a.area(l, int(o), true)], rows: x.readers[k].rows,
			seen: a.seen[int(o)]}
	}
	return out
}

// fetchFar brings all rows of an epoch that the owner at a place has sent from another rank to be used at once, each piece as soon as it is there.
func (r *receiver) fetchFar(in *fetchQueue, at, epoch int, blocks []int) {
	m := partMessage{arrivals: r.far[at].once, number: r.message(r.hub.Epoch), seen: r.far[at].seen, epoch: epoch, blocks: blocks}
	if r.mine.reads(at, blocks) {
		r.bringFar(&m, at, blocks, in, in)
		r.landFar(&m, at, in.queue)
		r.renewFar(in, at, epoch, blocks)
		r.takeFar(in.queue, &m, at)
	}
	*m.seen = int64(m.number)
}

// expect notes what other ranks send in an epoch for the next one.
func (r *receiver) expect(epoch int, blocks []int) { r.coming = &awaited{epoch: epoch, blocks: blocks} }

// eachLetter calls f for the messages of r.coming of which the part reads rows, and with last goes by all of them.
func (r *receiver) eachLetter(last bool, f func(m *partMessage, at int)) {
	r.eachOwner(func(at int) {
		x := r.far[at]
		if x == nil {
			return
		}
		m := &partMessage{arrivals: x.later, number: r.message(r.coming.epoch), seen: &x.last, epoch: r.coming.epoch, blocks: r.coming.blocks}
		if r.mine.reads(at, m.blocks) {
			f(m, at)
		}
		if last {
			x.last = int64(m.number)
		}
	})
}

// takeComing brings what has come from other ranks in the epoch before one, before that reads it.
func (r *receiver) takeComing(epoch int) {
	without, some := &r.ahead, r.coming.blocks
	if r.keeps {
		without = &r.renewal
	}
	if r.coming.renewed {
		some = some[:1]
	}
	r.eachLetter(true, func(m *partMessage, at int) {
		r.bringFar(m, at, some, without, &r.renewal)
		if !r.coming.renewed {
			r.landFar(m, at, without.queue, r.renewal.queue)
			r.renewFar(&r.renewal, at, m.epoch, m.blocks)
		}
		r.takeFar(without.queue, m, at)
	})
	r.coming = nil
	r.pass(without, epoch)
	without.close()
	r.renewal.close()
}

// renewComing takes what has slots out of messages that have come, and all where rows have memory of their own: a checkpoint holds that, and the rest is sent
// once more when a run is resumed.
func (r *receiver) renewComing() {
	switch {
	case r.coming == nil || r.coming.renewed:
		return
	case r.keeps:
		r.takeComing(r.coming.epoch + 1)
		return
	}
	r.eachLetter(false, func(m *partMessage, at int) {
		r.bringFar(m, at, m.blocks[1:], nil, &r.renewal)
		r.landFar(m, at, r.renewal.queue, r.ahead.queue)
		r.renewFar(&r.renewal, at, m.epoch, m.blocks)
	})
	r.renewal.close()
	r.coming.renewed = true
}

// dropComing gives back the memory of what has come and nobody will read, as a new schedule begins.
func (r *receiver) dropComing() {
	if r.coming == nil {
		return
	}
	r.eachLetter(true, func(m *partMessage, at int) {
		r.await(m, at, r.far[at].rowsOf(m.blocks)*int(r.wireRow()), r.ahead.queue)
		r.takeFar(r.ahead.queue, m, at)
	})
	r.coming = nil
}

// partMessage is a message from another rank as one part reads it.
type partMessage struct {
	*arrivals
	number uint32
	seen   *int64
	epoch  int // that made its rows, on the clock of the exchange
	blocks []int
}

// takeFar says that the part has copied all its rows of a message, when queue q has.
func (r *receiver) takeFar(q gpu.Queue, m *partMessage, at int) {
	readers := 0
	for _, y := range r.far[at].readers {
		i := &r.readers[y.part]
		if k, _ := slices.BinarySearch(i.owners, r.mine.owners[at]); i.reads(k, m.blocks) {
			readers++
		}
	}
	m.Taken(q, m.number, readers)
}

// bringFar brings rows of some blocks of a message: those without a slot by one fetchQueue, others by another.
func (r *receiver) bringFar(m *partMessage, at int, some []int, without, slots *fetchQueue) {
	for _, b := range some {
		made := m.epoch // that has travelled with the rows, on the clock of the exchange
		r.made[b][at] = made
		s := r.mine.direct[b][at]
		if s.n == 0 {
			continue
		}
		in, into := slots, r.local
		if b == 0 {
			in, into = without, r.transient
		}
		r.pickFar(in, m, at, b, into.RowRange(s.first, s.first+s.n))
		r.refreshed(b, made, s.n)
	}
}

// pickFar copies the part's direct rows of a block, in pieces.
func (r *receiver) pickFar(in *fetchQueue, m *partMessage, at, b int, dst gpu.Matrix) {
	f, row := r.far[at], int(r.wireRow())
	first := f.before(m.blocks, b)
	rows := f.rows[b]
	if none := len(f.direct[0]); rows != nil && b > 0 && first != none { // several classes are due
		rows = slices.Clone(rows)
		for k, x := range rows {
			if int(x) >= none {
				rows[k] += int32(first - none)
			}
		}
	}
	r.eachPiece(dst.Rows, func(lo, hi int) {
		to := dst.RowRange(lo, hi)
		if rows == nil {
			r.await(m, at, (first+hi)*row, in.queue)
			r.copyRows(in, to, gpu.Matrix{}, m.Mem[(first+lo)*row:(first+hi)*row], int(r.mine.owners[at]))
			return
		}
		some := rows[lo:hi]
		r.await(m, at, (int(slices.Max(some))+1)*row, in.queue)
		in.queue.UploadRows(r.open(in, to), m.Mem, some)
		r.stats.Bytes.H2D += gpu.Bytes(len(some) * row)
	})
}

// before returns how many rows of a message lie before the direct ones of a block.
func (x *crossing) before(blocks []int, b int) int {
	return x.rowsOf(blocks[:slices.Index(blocks, b)])
}

// landFar puts the shared rows of a message into the global cache of this rank, once for all parts, and notes that they are there. Queues that read them are given.
func (r *receiver) landFar(m *partMessage, at int, readers ...gpu.Queue) {
	f, row, owner := r.far[at], int(r.wireRow()), int(r.mine.owners[at])
	size := f.rowsOf(m.blocks) * row
	for _, b := range m.blocks {
		if len(f.shared[b]) > 0 {
			r.await(m, at, size, readers...)
			break
		}
	}
	err := m.land(m.number, func() error {
		for _, b := range m.blocks {
			n := len(f.shared[b]) * row
			if n == 0 {
				continue
			}
			mem, err := r.blocks[b-1][owner].Begin(m.epoch)
			if err == nil {
				copy(mem, m.Mem[(f.before(m.blocks, b)+len(f.direct[b]))*row:][:n])
				err = r.blocks[b-1][owner].Publish()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, b := range m.blocks {
		if err != nil || len(f.shared[b]) == 0 || len(r.mine.shared[b-1][at].rows)+len(r.mine.passing[b-1][at].rows) == 0 {
			continue
		}
		var reading hostmem.Reading
		if reading, err = r.blocks[b-1][owner].Read(m.epoch); err == nil {
			r.books[b-1][at].note(entry{epoch: m.epoch, rows: reading.Rows()})
		}
	}
	if err != nil {
		meet.Stop(err)
	}
}

// renewFar brings the local rows of a class that the global cache of this rank has from another one.
func (r *receiver) renewFar(in *fetchQueue, at, epoch int, blocks []int) {
	for _, b := range blocks {
		if b == 0 || len(r.mine.shared[b-1][at].rows) == 0 {
			continue
		}
		p := r.mine.shared[b-1][at]
		r.lookUp(in, b-1, at, epoch, r.local, p)
		r.refreshed(b, epoch, len(p.rows))
	}
}

// await returns when bytes [0,hi) of a message are there; in virtual time queues wait for them. It ends the part's Guard
// if the part should have read the one that is there before.
func (r *receiver) await(m *partMessage, at, hi int, queues ...gpu.Queue) {
	owner := int(r.mine.owners[at])
	by := link.Reader{Part: r.ep.Part, Owner: owner, What: fmt.Sprintf("halo rows of %v", r.ID), Wrong: func(message uint32) error {
		got, due := int(message), int(m.number)
		if got < due && (int64(got) <= *m.seen || !slices.Contains(m.readers[got%r.kinds], r.ep.Part)) {
			return nil
		}
		return &StaleError{Part: r.ep.Part, Owner: owner, Exchange: r.ID.String(), Rows: "of another rank", Err: fmt.Errorf(
			"they are of epoch %d, exchange %d, here it is epoch %d, exchange %d: start all ranks from one checkpoint",
			got/r.kinds, got%r.kinds, due/r.kinds, r.kind)}
	}}
	m.Await(by, m.number, hi, queues...)
}
