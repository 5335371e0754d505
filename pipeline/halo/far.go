package halo

import (
	"fmt"
	"slices"
	"sync"
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

// departure is a part's way to another rank: host memory from which rows leave, one exchange's after the other.
type departure struct {
	rank  int
	stage []byte
	free  chan struct{} // all of stage has left
	under atomic.Int32  // pieces that have not
}

// leaving is the rows of an exchange that leave for another rank.
type leaving struct {
	*crossing
	*departure
	first int // row of block 0 at which they begin
}

// departures returns the ways of a part to other ranks, by rank.
func (a *attachment) departures() map[int]*departure {
	size := map[int]gpu.Bytes{}
	var order []int
	for _, t := range slices.Concat(a.training, a.evaluation) {
		for _, x := range t.crossingsOf(a.ep.Part) {
			if size[x.rank] == 0 {
				order = append(order, x.rank)
			}
			size[x.rank] = max(size[x.rank], t.wireRow()*gpu.Bytes(x.rows))
		}
	}
	out := map[int]*departure{}
	for _, rank := range order {
		d := &departure{rank: rank, stage: a.ep.Memory.Pin("rows for other ranks", size[rank]), free: make(chan struct{}, 1)}
		d.free <- struct{}{}
		a.ep.staged += size[rank]
		out[rank] = d
	}
	return out
}

// leave enqueues the way of packed rows to other ranks: down to the host, and from there, piece by piece. start is where block 0 begins in the send buffer.
// What a part waits for here is of its rank: memory that is free again.
func (r *sender) leave(box *sendBuffer, ready gpu.Event, start, epoch int) {
	row := int(r.wireRow())
	for i := range r.leaving {
		l := &r.leaving[i]
		meet.ReceiveRoom(r.hub, l.free, r.ep.Part, l.readers[0].part, fmt.Sprintf("to take halo rows before those of %v", r.ID))
		l.under.Store(int32((l.rows + r.pieceRows() - 1) / r.pieceRows()))
		r.out().Wait(ready)
		message, mem := r.message(r.hub.Epoch), l.stage[:l.rows*row]
		if epoch != r.schedule().Start {
			r.stats.Bytes.Refresh += gpu.Bytes(l.renewed * row)
		}
		r.download(mem, r.wire(box.send, start+l.first, l.rows), func(lo, hi int) {
			r.out().Call("send halo rows", func() error {
				r.net.Send(l.departure.rank, r.area, message, lo*row, mem[lo*row:hi*row], func(err error) { r.left(l, err) })
				return nil
			})
		})
	}
	if len(r.leaving) > 0 {
		box.drained = r.out().Record()
	}
}

// left counts pieces that have left the memory of their rank. One that could not ends the run.
func (r *sender) left(l *leaving, err error) {
	if err != nil {
		r.hub.Fail(fmt.Errorf("send halo rows of %v from part %d to rank %d: %w", r.ID, r.ep.Part, l.departure.rank, err))
	} else if l.under.Add(-1) == 0 {
		l.free <- struct{}{}
	}
}

// arrivals is where the rows arrive that parts of this rank read of one of another: one message after the other, each for all of them. It is taken when the
// last one has copied its rows.
type arrivals struct {
	Area
	net     Net
	mem     []byte
	readers [][]int // by kind of message: parts here that read it

	mu      sync.Mutex
	message int64         // that is there or comes; −1: none came yet
	hi      int           // bytes of it that are there
	left    int           // parts that have not copied their rows
	changed chan struct{} // is closed when more is there
}

// openAreas takes the memory in which rows of other ranks arrive. A part that reads them has it.
func (p *Plan) openAreas() {
	if p.Net == nil {
		return
	}
	p.arriving = map[int]*arrivals{}
	for _, area := range p.Areas() {
		if area.To != p.Net.Rank() {
			continue
		}
		owner := int(area.Number - p.Area)
		a := &arrivals{Area: area, net: p.Net, message: -1, changed: make(chan struct{})}
		for _, t := range slices.Concat(p.training, p.evaluation) {
			var parts []int
			if x := t.crossingTo(area.To, owner); x != nil {
				for _, y := range x.readers {
					parts = append(parts, y.part)
				}
			}
			a.readers = append(a.readers, parts)
		}
		first := slices.IndexFunc(a.readers, func(parts []int) bool { return len(parts) > 0 })
		e := p.Ends[a.readers[first][0]-p.Cuts.Whole.Own.Lo]
		a.mem = e.Memory.Pin("rows of other ranks", gpu.Bytes(area.Bytes))
		e.staged += gpu.Bytes(area.Bytes)
		p.arriving[owner] = a
	}
}

// Join has rows of other ranks arrive from now on. All parts are attached.
func (p *Plan) Join() {
	for _, a := range p.arriving {
		a.net.Expect(a.From, a.Number, a.mem, a.arrived)
	}
}

// arrived is called when bytes [0,hi) of a message are there.
func (a *arrivals) arrived(message uint32, hi int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch m := int64(message); {
	case m > a.message:
		a.message, a.hi, a.left = m, hi, len(a.readers[int(message)%len(a.readers)])
	case m == a.message:
		a.hi = max(a.hi, hi)
	default: // the callback is late
		return
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

// state returns which message is there, how much of it, and what is closed when more is.
func (a *arrivals) state() (message int64, hi int, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.message, a.hi, a.changed
}

// copied says that a part has copied its rows of the message.
func (a *arrivals) copied(message uint32) {
	a.mu.Lock()
	a.left--
	last := a.left == 0
	a.mu.Unlock()
	if last {
		a.net.Taken(a.From, a.Number, message)
	}
}

// far is how a part reads the rows that one of another rank sends.
type far struct {
	*arrivals
	rows int     // of a message
	pick []int32 // passenger.rows
	seen *int64  // the last message of the area that the part has read, in any exchange
}

// farOwners returns, by place of an owner, how its rows come from another rank; nil: it is of this one.
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
		k := slices.IndexFunc(x.readers, func(y passenger) bool { return y.part == a.ep.Part })
		if k < 0 {
			continue
		}
		if a.seen[int(o)] == nil {
			none := int64(-1)
			a.seen[int(o)] = &none
		}
		out[at] = &far{a.arriving[int(o)], x.rows, x.readers[k].rows, a.seen[int(o)]}
	}
	return out
}

// fetchFar brings all rows that the owner at a place has sent from another rank, each piece as soon as it is there.
func (r *receiver) fetchFar(in *inlet, at, epoch int) {
	f, message, next := r.far[at], r.message(r.hub.Epoch), 0
	bring := func(dst gpu.Matrix, b int) {
		r.bringFar(in, at, dst, next, message)
		next += dst.Rows
		if b > 0 && epoch != r.schedule().Start {
			r.stats.Bytes.Refresh += gpu.Bytes(dst.Rows) * r.wireRow()
		}
	}
	for b := range r.mine.direct {
		into, s := r.local, r.mine.direct[b][at]
		if b == 0 {
			into = r.transient
		}
		if s.n > 0 {
			bring(into.RowRange(s.first, s.first+s.n), b)
		}
	}
	for c := range r.mine.shared {
		if p := r.mine.shared[c][at]; len(p.rows) > 0 {
			bring(r.local.RowRange(p.first, p.first+len(p.rows)), 1+c)
		}
		if p := r.mine.passing[c][at]; len(p.rows) > 0 {
			bring(r.transient.RowRange(p.first, p.first+len(p.rows)), 0)
		}
	}
	*f.seen = int64(message)
	for b := range r.made { // the epoch that has travelled with the rows, on the clock of the exchange
		r.made[b][at] = epoch + int(message)/r.kinds - r.hub.Epoch
	}
	in.queue.Call("take halo rows", func() error {
		f.copied(message)
		return nil
	})
}

// bringFar copies rows of a message, those from the next-th row of the part on, in pieces.
func (r *receiver) bringFar(in *inlet, at int, dst gpu.Matrix, next int, message uint32) {
	f, row := r.far[at], int(r.wireRow())
	r.eachPiece(dst.Rows, func(lo, hi int) {
		to := dst.RowRange(lo, hi)
		if f.pick == nil {
			r.await(at, message, (next+hi)*row)
			r.copyRows(in, to, gpu.Matrix{}, f.mem[(next+lo)*row:(next+hi)*row], int(r.mine.owners[at]), false)
			return
		}
		rows := f.pick[next+lo : next+hi]
		r.await(at, message, (int(slices.Max(rows))+1)*row)
		in.queue.UploadRows(r.open(in, to, false), f.mem[:f.rows*row], rows)
		r.stats.Bytes.H2D += gpu.Bytes(len(rows) * row)
	})
}

// await returns when bytes [0,hi) of a message are there. It waits on the host, as package reduce does, so no queue waits for a network.
func (r *receiver) await(at int, message uint32, hi int) {
	f, owner := r.far[at], int(r.mine.owners[at])
	for {
		got, there, changed := f.state()
		if got == int64(message) && there >= hi {
			return
		}
		if got > int64(message) || got >= 0 && got < int64(message) && got > *f.seen && slices.Contains(f.readers[int(got)%r.kinds], r.ep.Part) {
			meet.Stop(&StaleError{Part: r.ep.Part, Owner: owner, Exchange: r.ID.String(), Rows: "of another rank", Err: fmt.Errorf(
				"they are of epoch %d, exchange %d, here it is epoch %d, exchange %d: start all ranks from one checkpoint",
				int(got)/r.kinds, int(got)%r.kinds, r.hub.Epoch, r.kind)})
		}
		meet.Receive(r.hub, changed, r.ep.Part, owner, fmt.Sprintf("halo rows of %v", r.ID))
	}
}
