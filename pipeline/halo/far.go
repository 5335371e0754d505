package halo

import (
	"fmt"
	"slices"
	"sync/atomic"

	"capgnn/gpu"
	"capgnn/internal/meet"
)

// Net is what exchanges ask of the way to other processes, which are called ranks. An area is memory at a reader that both sides know of: a message fills it
// from its first byte on, and the next one is held back until the reader has Taken this one. Callbacks come on goroutines of the Net.
type Net interface {
	Rank() int
	Ranks() int
	// Send hands over bytes for an area at another rank, from byte off on, and returns at once. b stays as it is until sent is called. Pieces of
	// one message, by ascending off, have its number, and numbers of an area ascend.
	Send(to int, area, message uint32, off int, b []byte, sent func(error))
	// Expect says where the messages for an area go, and has arrived called when bytes [0,hi) of one are there.
	Expect(from int, area uint32, into []byte, arrived func(message uint32, hi int))
	// Taken says that an area may be written to again.
	Taken(from int, area, message uint32)
}

// Timed is a Net whose messages take virtual time, that of simulated devices. What was waited for on the host has a place in it, which queues wait for.
type Timed interface {
	// Depart says that the bytes of a message from byte off on are there when ev fires. Send follows.
	Depart(to int, area, message uint32, off int, ev gpu.Event)
	// Arrival returns the event of bytes [0,hi) of a message, which have arrived.
	Arrival(from int, area, message uint32, hi int) gpu.Event
	// Release says that a reader has copied its rows of a message when ev fires. Taken follows.
	Release(from int, area, message uint32, ev gpu.Event)
}

// departure is a part's way to another rank: host memory from which rows leave, one message's after the other.
type departure struct {
	rank  int
	stage []byte
	free  chan struct{} // all of stage has left
	under atomic.Int32  // pieces that have not
}

// leaving is the rows of an exchange that leave for another rank.
type leaving struct {
	*crossing
	once, later    *departure
	direct, shared []int // by block: rows of it behind which those of the crossing begin
}

// departure returns a new way to a rank.
func (a *attachment) departure(rank int, size gpu.Bytes) *departure {
	d := &departure{rank: rank, stage: a.ep.Memory.Pin("rows for other ranks", size), free: make(chan struct{}, 1)}
	d.free <- struct{}{}
	a.ep.staged += size
	return d
}

// departures returns the ways of a part to other ranks of rows that are used at once, by rank.
func (a *attachment) departures() map[int]*departure {
	size := map[int]gpu.Bytes{}
	var order []int
	for _, t := range slices.Concat(a.beyond[0], a.beyond[1]) {
		for k := range t.crossingsOf(a.ep.Part) {
			x := &t.crossings[a.ep.Part][k]
			if size[x.rank] == 0 {
				order = append(order, x.rank)
			}
			all, _ := x.most()
			size[x.rank] = max(size[x.rank], t.wireRow()*gpu.Bytes(all))
		}
	}
	out := map[int]*departure{}
	for _, rank := range order {
		out[rank] = a.departure(rank, size[rank])
	}
	return out
}

// leavings returns the rows of an exchange that leave a part, without where they begin.
func (a *attachment) leavings(t *traffic) (all []leaving) {
	for k := range t.crossingsOf(a.ep.Part) {
		x := &t.crossings[a.ep.Part][k]
		l := leaving{crossing: x, once: a.ways[x.rank]}
		if t.pipelined {
			_, usual := x.most()
			l.later = a.departure(x.rank, t.wireRow()*gpu.Bytes(usual))
		}
		all = append(all, l)
	}
	return all
}

// leave enqueues the way of packed rows to other ranks: down to the host, and from there, piece by piece. starts are where blocks begin in the send buffer.
// What a part waits for here is of its rank: memory that is free again.
func (r *sender) leave(box *sendBuffer, ready gpu.Event, starts []int, epoch int, blocks []int) {
	for i := range r.leaving {
		l := &r.leaving[i]
		rows := l.rowsOf(blocks)
		if rows == 0 {
			continue
		}
		way, area, message := l.once, r.areas[0], r.message(r.hub.Epoch)
		if box == r.own {
			way, area, message = l.later, r.areas[1], r.message(epoch)
		}
		meet.ReceiveRoom(r.hub, way.free, r.ep.Part, l.readers[0].part, fmt.Sprintf("to take halo rows before those of %v", r.ID))
		way.under.Store(int32(r.piecesOf(l.crossing, blocks)))
		r.out().Wait(ready)
		at := 0
		for k, b := range blocks {
			for _, span := range []extent{{l.direct[b], len(l.crossing.direct[b])}, {l.shared[b], len(l.crossing.shared[b])}} {
				r.depart(l, way, area, message, at, r.wire(box.send, starts[k]+span.first, span.n))
				if at += span.n; b > 0 && epoch != r.schedule().Start {
					r.stats.Bytes.Refresh += gpu.Bytes(span.n) * r.wireRow()
				}
			}
		}
		box.drained = r.out().Record()
	}
}

// piecesOf returns in how many pieces a message leaves.
func (t *traffic) piecesOf(x *crossing, blocks []int) (n int) {
	step := t.pieceRows()
	for _, b := range blocks {
		n += (len(x.direct[b])+step-1)/step + (len(x.shared[b])+step-1)/step
	}
	return n
}

// depart enqueues the way of rows that lie in a message from row at on.
func (r *sender) depart(l *leaving, way *departure, area, message uint32, at int, rows gpu.Matrix) {
	row := int(r.wireRow())
	mem := way.stage[at*row : (at+rows.Rows)*row]
	r.download(mem, rows, func(lo, hi int) {
		if net, timed := r.net.(Timed); timed {
			net.Depart(way.rank, area, message, (at+lo)*row, r.out().Record())
		}
		r.out().Call("send halo rows", func() error {
			r.net.Send(way.rank, area, message, (at+lo)*row, mem[lo*row:hi*row], func(err error) { r.left(way, err) })
			return nil
		})
	})
}

// left counts pieces that have left the memory of their rank. One that could not ends the run.
func (r *sender) left(way *departure, err error) {
	if err != nil {
		r.hub.Fail(fmt.Errorf("send halo rows of %v from part %d to rank %d: %w", r.ID, r.ep.Part, way.rank, err))
	} else if way.under.Add(-1) == 0 {
		way.free <- struct{}{}
	}
}
