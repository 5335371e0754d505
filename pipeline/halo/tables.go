package halo

import (
	"slices"
	"sync"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/meet"
	"capgnn/jaca"
)

// Turns are those of a part in the memory of its device.
type Turns interface {
	// Next ends a turn, behind what the part's compute queue has been given, and returns in the next one.
	Next()
	// Recording reports whether operations are only noted.
	Recording() bool
}

// tables hold, in host memory, the rows that parts exchange which take turns: of each exchange, by owner and row of its
// matrix. Evaluation's exchanges use the memory of training's.
type tables struct {
	rows  []*tabled   // of training, then of evaluation
	mem   [][][]byte  // by place among the exchanges of an epoch, and owner
	taken []gpu.Bytes // by place among the exchanges of an epoch
}

// tabled is an exchange through a table.
type tabled struct {
	*traffic
	lists [][][]int32        // by reader and its owner: which rows of the owner are read
	lo    []int              // by owner: the first row that somebody reads
	hi    []int              // the one behind the last
	there [][]chan gpu.Event // by reader and its owner: the rows are in the table
	mu    sync.Mutex         // of mem: a part is recorded while others take the memory of theirs
	mem   [][]byte           // by owner
}

// of returns the memory of an owner's rows; nil: it has not taken it yet.
func (t *tabled) of(owner int) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mem[owner]
}

// Tabulate plans exchanges for parts that take turns. It comes before AttachStreamed.
func (p *Plan) Tabulate() {
	t := &tables{}
	p.streamed = t
	lists := map[*graph.NodeID][]int32{}
	for _, of := range [][]*traffic{p.training, p.evaluation} {
		for k, l := range of {
			x := p.tabled(l, lists)
			for len(t.taken) <= k {
				t.taken, t.mem = append(t.taken, 0), append(t.mem, make([][]byte, p.parts()))
			}
			t.rows = append(t.rows, x)
		}
	}
}

func (p *Plan) tabled(l *traffic, lists map[*graph.NodeID][]int32) *tabled {
	x := &tabled{traffic: l, lo: make([]int, p.parts()), hi: make([]int, p.parts()), mem: make([][]byte, p.parts())}
	sources := p.sources(l)
	for i := range l.readers {
		r := &l.readers[i]
		var of []int32
		if len(r.ids) > 0 {
			if of = lists[&r.ids[0]]; of == nil {
				for _, v := range r.ids {
					of = append(of, sources[v])
				}
				lists[&r.ids[0]] = of
			}
		}
		var byOwner [][]int32
		var there []chan gpu.Event
		for k, o := range r.owners {
			d := r.direct[0][k]
			list := of[d.first : d.first+d.n]
			byOwner = append(byOwner, list)
			there = append(there, make(chan gpu.Event, 1))
			if len(list) == 0 {
				continue
			}
			lo, hi := int(slices.Min(list)), int(slices.Max(list))+1
			if x.hi[o] > 0 {
				lo = min(lo, x.lo[o])
			}
			x.lo[o], x.hi[o] = lo, max(hi, x.hi[o])
		}
		x.lists, x.there = append(x.lists, byOwner), append(x.there, there)
	}
	return x
}

// reserve takes the memory of a part's tables.
func (t *tables) reserve(p *Plan, part int, pin func(name string, size gpu.Bytes) []byte) (total gpu.Bytes) {
	sizes := make([]gpu.Bytes, len(t.taken))
	places := func(f func(place int, x *tabled)) {
		for k, x := range t.rows {
			if k >= len(p.training) {
				k -= len(p.training)
			}
			f(k, x)
		}
	}
	places(func(k int, x *tabled) { sizes[k] = max(sizes[k], x.wireRow()*gpu.Bytes(x.hi[part])) })
	for k, n := range sizes {
		t.mem[k][part] = pin("rows of parts that take turns", n)
		total += n
	}
	places(func(k int, x *tabled) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.mem[part] = t.mem[k][part]
	})
	return total
}

// Streamed is the side of a part that takes turns of the exchanges of training or evaluation. It implements gnn.Halo:
// Begin takes the rows that others read to a table, and ends the turn; Wait gathers halo rows there.
type Streamed struct {
	Exchange
	turns  Turns
	tables map[ID]*tabled
	loose  gpu.Buffer // where rows with gaps between them are put together; nil: there are none
	size   gpu.Bytes  // of loose
}

var _ gnn.Halo = (*Streamed)(nil)

// AttachStreamed is Attach for a part that takes turns.
func (p *Plan) AttachStreamed(part int, turns Turns) (train, eval *Streamed) {
	a := &attachment{Plan: p, ep: p.Ends[part-p.Cuts.Whole.Own.Lo]}
	a.ep.staged = p.streamed.reserve(p, part, a.ep.Memory.Pin)
	side := func(of []*tabled, stats *jaca.Stats) *Streamed {
		s := &Streamed{Exchange: Exchange{plan: p, ep: a.ep, hub: p.Hub, of: map[ID]*relay{}}, turns: turns,
			tables: map[ID]*tabled{}}
		for _, x := range of {
			r := a.relayed(x.traffic, stats)
			s.relays, s.of[x.ID], s.tables[x.ID] = append(s.relays, r), r, x
		}
		return s
	}
	train, eval = side(p.streamed.rows[:len(p.training)], &a.ep.stats), side(p.streamed.rows[len(p.training):], new(jaca.Stats))
	a.place(&train.Exchange, &eval.Exchange)
	for _, r := range train.relays {
		r.clear()
	}
	return train, eval
}

// relayed returns the part's side of one exchange through a table.
func (a *attachment) relayed(l *traffic, stats *jaca.Stats) *relay {
	s := &side{traffic: l, ep: a.ep, hub: a.Hub, stats: stats}
	r := &relay{side: s, sender: sender{side: s}, receiver: receiver{side: s, mine: &l.readers[a.ep.Part]}}
	if l.returned {
		r.inner = a.returnedRows(l)
	}
	return r
}

// BeginEpoch is called before the first exchange of an epoch.
func (x *Streamed) BeginEpoch(gpu.Queue) {}

// EndEpoch is called when the epoch has been enqueued.
func (x *Streamed) EndEpoch(gpu.Queue) {}

// Lags reports that no rows are used in a later epoch than the one that makes them.
func (x *Streamed) Lags() bool { return false }

// Moves returns how many bytes an epoch brings to the part's device from tables, and how many it takes there.
func (x *Streamed) Moves() (up, down gpu.Bytes) {
	me := x.ep.Part
	for _, t := range x.tables {
		for _, list := range t.lists[me] {
			up += t.wireRow() * gpu.Bytes(len(list))
		}
		down += t.wireRow() * gpu.Bytes(t.hi[me]-t.lo[me])
	}
	return up, down
}

// Begin implements gnn.Halo: it ends the turn, and returns in the next one.
func (x *Streamed) Begin(q gpu.Queue, layer int, dir gnn.Direction, rows gpu.Matrix) {
	t, r, me := x.tables[ID{layer, dir}], x.of[ID{layer, dir}], x.ep.Part
	if lo, hi := t.lo[me], t.hi[me]; hi > lo {
		x.lower(q, t, x.together(q, rows.RowRange(lo, hi)))
		if !x.turns.Recording() {
			r.stats.Bytes.D2H += t.wireRow() * gpu.Bytes(hi-lo)
		}
	}
	if !x.turns.Recording() {
		ready := q.Record()
		x.ep.Waits.Owe(ready)
		for _, s := range t.senders[me] {
			t.there[s.reader][s.at] <- ready
		}
	}
	x.turns.Next()
}

// lower copies rows to the part's table, in pieces.
func (x *Streamed) lower(q gpu.Queue, t *tabled, rows gpu.Matrix) {
	row, table := int(t.wireRow()), t.of(x.ep.Part)
	if table != nil {
		table = table[row*t.lo[x.ep.Part]:]
	}
	t.eachPiece(rows.Rows, func(lo, hi int) {
		piece := rows.RowRange(lo, hi)
		var mem []byte
		if table != nil {
			mem = table[row*lo : row*hi]
		} else { // of a device that keeps accounts only
			mem = make([]byte, row*(hi-lo))
		}
		q.Download(mem, piece.Buf, gpu.Bytes(piece.Type.Size())*gpu.Bytes(piece.Off))
	})
}

// together returns rows without gaps between them.
func (x *Streamed) together(q gpu.Queue, rows gpu.Matrix) gpu.Matrix {
	if rows.LD == rows.Cols || rows.Rows < 2 {
		return rows
	}
	m := rows
	m.Off, m.LD = 0, rows.Cols
	if n := gpu.Bytes(m.Type.Size()) * gpu.Bytes(m.Rows*m.Cols); n > x.size {
		if x.loose != nil {
			x.loose.Free()
		}
		x.loose, x.size = x.ep.Memory.Alloc(n, "rows without gaps"), n
	}
	m.Buf = x.loose
	q.Copy(m, rows)
	return m
}

// Wait implements gnn.Halo.
func (x *Streamed) Wait(q gpu.Queue, layer int, dir gnn.Direction) gpu.Matrix {
	t, r, me := x.tables[ID{layer, dir}], x.of[ID{layer, dir}], x.ep.Part
	r.eachOwner(func(k int) {
		owner, list := int(r.mine.owners[k]), t.lists[me][k]
		if !t.has(me, owner) {
			return
		}
		if !x.turns.Recording() {
			ready := meet.Receive(x.hub, t.there[me][k], me, owner, "halo rows of "+r.ID.String())
			x.ep.Waits.For(q, ready, owner, r.ID, "halo rows")
			r.stats.Bytes.H2D += t.wireRow() * gpu.Bytes(len(list))
		}
		if len(list) > 0 {
			first := r.mine.direct[0][k].first
			q.UploadRows(r.transient.RowRange(first, first+len(list)), t.of(owner), list)
		}
	})
	if !x.turns.Recording() {
		r.count([]int{0})
	}
	return r.halo
}
