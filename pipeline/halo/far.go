package halo

import (
	"fmt"
	"slices"

	"capgnn/cluster"
	"capgnn/gpu"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// departure is a part's way to another rank: host memory from which rows leave, one message's after the other.
type departure struct {
	rank  int
	stage []byte
	free  chan struct{} // all of stage has left
}

// leaving is the rows of an exchange that leave for another rank.
type leaving struct {
	*crossing
	once, later    *departure
	direct, shared []int // by block: rows of it behind which those of the crossing begin
}

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
		left := link.Last(r.piecesOf(l.crossing, blocks), func() { way.free <- struct{}{} })
		to := cluster.Area{From: r.net.Rank(), To: way.rank, Number: area}
		r.out().Wait(ready)
		at := 0
		for k, b := range blocks {
			for _, span := range []extent{{l.direct[b], len(l.crossing.direct[b])}, {l.shared[b], len(l.crossing.shared[b])}} {
				r.depart(way, to, message, at, r.wire(box.send, starts[k]+span.first, span.n), left)
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
func (r *sender) depart(way *departure, to cluster.Area, message uint32, at int, rows gpu.Matrix, left func()) {
	row, what := int(r.wireRow()), fmt.Sprintf("halo rows of %v from part %d", r.ID, r.ep.Part)
	mem := way.stage[at*row : (at+rows.Rows)*row]
	r.download(mem, rows, func(lo, hi int) {
		r.net.Send(r.out(), to, message, (at+lo)*row, mem[lo*row:hi*row], what, left)
	})
}
