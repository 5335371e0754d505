package halo

import (
	"fmt"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/meet"
)

// exchange is a worker's halo exchange over a set of exchanges, training's or evaluation's. It implements gnn.Halo.
//
// Method: Begin packs the rows that are due, for all readers, into a send buffer on the compute queue; each reader copies its
// contiguous shares. Rows that are used in the epoch that makes them come on the local queue between Begin and Wait. With the
// pipeline they are used from the next epoch on: they come to their local slots on the local queue once this epoch has read
// what lies there, and rows without a slot come just before they are used, on the prefetch queue, while the exchange before
// computes. The schedule says which version a reader gets; relay.check verifies it.
type Exchange struct {
	plan   *Plan
	ep     *Endpoint
	hub    *meet.Hub
	relays []*relay      // in the order of an epoch
	of     map[ID]*relay // the same
	shared *sendBuffer   // of rows that are used at once; nobody's between two exchanges
	leaves *sendBuffer   // the same, of rows that cross between ranks
	turns  []*relay      // those whose transient rows take turns in shared memory, with the pipeline; else empty
	lags   bool          // some rows may be used in the epoch behind the one that made them
	early  bool          // the rows of the first turn of the next epoch are on their way
	packed gpu.Event     // the last send is packed, and what the halo matrix held before has been read
	clock  func() int    // epoch
}

var _ gnn.Halo = (*Exchange)(nil)

// BeginEpoch is called before the first exchange of an epoch: the pipeline brings the rows that its first exchanges read.
func (x *Exchange) BeginEpoch(q gpu.Queue) {
	if !x.lags {
		return
	}
	epoch, read := x.clock(), q.Record()
	for _, r := range x.relays {
		if epoch == r.schedule().Start {
			r.drop(x.ep.Prefetch)
		}
		if b := r.beyond; b != nil && epoch == b.schedule().Start {
			b.dropComing()
		}
	}
	x.takeAhead(0, epoch, read)
	for m, r := range x.turns[:min(2, len(x.turns))] {
		if m > 0 || !x.early {
			x.prefetch(r, epoch, read)
		}
	}
	x.early = false
}

// prefetch brings rows for a later exchange of the epoch into memory that no enqueued operation after read will read again.
func (x *Exchange) prefetch(r *relay, epoch int, read gpu.Event) {
	if r.atOnce(epoch) {
		return
	}
	x.ep.Prefetch.Wait(read)
	r.prefetch(&r.ahead, epoch)
	r.arrived = append(r.arrived, x.ep.Prefetch.Record())
}

// takeAhead brings the rows of other ranks that an exchange reads in an epoch and the one before has made, when all operations that read what lies in their
// place have been enqueued.
func (x *Exchange) takeAhead(k, epoch int, read gpu.Event) {
	if k == len(x.relays) || x.relays[k].beyond == nil || x.relays[k].beyond.coming == nil {
		return
	}
	r := x.relays[k].beyond
	x.ep.Prefetch.Wait(read)
	r.takeComing(epoch)
	r.arrived = append(r.arrived, x.ep.Prefetch.Record())
}

// passed is called when every operation that reads rows of the exchanges before index next has been enqueued. With the pipeline
// these rows may be replaced from then on.
func (x *Exchange) passed(q gpu.Queue, next int) {
	var read gpu.Event
	epoch := x.clock()
	for _, r := range x.relays {
		if !r.lags() || r.until != next {
			continue
		}
		if read == nil {
			read = q.Record()
		}
		if b := r.beyond; b != nil {
			if blocks := b.later(epoch); len(blocks) > 0 {
				b.expect(epoch, blocks)
			}
		}
		if blocks := r.later(epoch); len(blocks) > 0 {
			x.ep.Local.Wait(read)
			r.refresh(&r.renewal, epoch, blocks)
			r.arrived = append(r.arrived, x.ep.Local.Record())
		}
		x.refill(r, epoch, read)
	}
}

// refill brings the rows that take the place of an exchange's transient ones, which have been read: those of the turn after the
// next, or when there is none in this epoch, those of the first turn of the next epoch, whose place evaluation does not use.
func (x *Exchange) refill(r *relay, epoch int, read gpu.Event) {
	m := slices.Index(x.turns, r)
	switch {
	case m < 0:
	case m+2 < len(x.turns):
		x.prefetch(x.turns[m+2], epoch, read)
	case m%2 == 0:
		x.prefetchNextEpoch(epoch+1, read)
	}
}

// prefetchNextEpoch brings the rows of the first turn before their epoch has begun. Their bytes are of the epoch that moves them.
func (x *Exchange) prefetchNextEpoch(epoch int, read gpu.Event) {
	x.prefetch(x.turns[0], epoch, read)
	x.early = true
}

// EndEpoch is called when the epoch has been enqueued.
func (x *Exchange) EndEpoch(q gpu.Queue) { x.passed(q, len(x.relays)) }

func (x *Exchange) Begin(q gpu.Queue, layer int, dir gnn.Direction, rows gpu.Matrix) {
	r := x.of[ID{layer, dir}]
	if rows.Cols != r.width || rows.Type != r.dtype {
		panic(fmt.Sprintf("halo: %v: %d columns of %v, planned %d of %v", r.ID, rows.Cols, rows.Type, r.width, r.dtype))
	}
	x.passed(q, r.index)
	epoch := x.clock()
	if x.lags {
		x.takeAhead(r.index+1, epoch, q.Record())
	}
	if b := r.beyond; b != nil { // the longer way first
		b.begin(q, x.leaves, rows, epoch)
	}
	r.begin(q, x.shared, rows, epoch)
	x.packed = q.Record()
}

func (x *Exchange) Wait(q gpu.Queue, layer int, dir gnn.Direction) gpu.Matrix {
	r := x.of[ID{layer, dir}]
	epoch := x.clock()
	m := r.wait(q, x.packed, epoch)
	if r.beyond != nil {
		r.beyond.wait(q, x.packed, epoch)
	}
	return m
}

// Lags reports whether some rows are used in the epoch after the one that makes them.
func (x *Exchange) Lags() bool {
	return slices.ContainsFunc(x.relays, func(r *relay) bool {
		return slices.ContainsFunc(r.both(), func(r *relay) bool { return r.schedule().Lag > 0 })
	})
}
