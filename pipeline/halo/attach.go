package halo

import (
	"cmp"
	"maps"
	"slices"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/jaca"
)

// attachment puts a worker's side of all exchanges on its device.
//
// Memory: one send buffer as large as the largest exchange whose rows are used at once, and with the pipeline one for each
// exchange besides. One block of halo rows: the local slots of every exchange, then transient rows, which belong to one
// exchange after the other: in one place, or in two by turns with the pipeline. Rows that the backward pass reads again have
// a block of their own.
type attachment struct {
	*Plan
	ep   *Endpoint
	ways map[int]*departure // to other ranks, by rank
	seen map[int]*int64     // by owner at another rank: the last message in the area for rows that are used at once that the part has gone by
}

// Attach puts the side of a part of this process of all exchanges on its device. Parts may be attached at once, each by its own goroutine. What the endpoint's
// memory could not give is for it to report.
func (p *Plan) Attach(part int) (train, eval *Exchange) {
	k := part - p.Cuts.Whole.Own.Lo
	a := &attachment{Plan: p, ep: p.Ends[k], seen: map[int]*int64{}}
	a.ways = a.departures()
	train, eval = a.halos()
	p.sides[k] = train
	return train, eval
}

// outgoing returns the rows that a part sends in every block, over all readers, ranks and into the global cache.
func (t *traffic) outgoing(part int) []int {
	n := make([]int, 1+t.classes)
	for _, to := range t.senders[part] {
		for b := range n {
			n[b] += t.readers[to.reader].direct[b][to.at].n
		}
	}
	for _, x := range t.crossingsOf(part) {
		for b := range n {
			n[b] += x.rowsOf([]int{b})
		}
	}
	for c := range t.global {
		n[1+c] += len(t.global[c][part])
	}
	return n
}

// sendRows returns the most rows that a part sends at once, and the most that it sends in an epoch behind the first.
func (t *traffic) sendRows(part int) (all, usual int) {
	n := t.outgoing(part)
	for b, k := range n {
		all += k
		if b > 0 {
			usual = max(usual, k)
		}
	}
	return all, usual + n[0]
}

// halos returns the exchanges of training and evaluation of the part, in place on its device.
func (a *attachment) halos() (train, eval *Exchange) {
	i := a.ep.Part
	shared, own := a.sendBuffers(a.training, a.evaluation)
	var leaves *sendBuffer
	var leaving []*sendBuffer
	if a.beyond[1] != nil {
		leaves, leaving = a.sendBuffers(a.beyond[0], a.beyond[1])
	}
	train = &Exchange{plan: a.Plan, ep: a.ep, hub: a.Hub, of: map[ID]*relay{}, shared: shared, leaves: leaves, clock: func() int { return a.Hub.Epoch }}
	eval = &Exchange{plan: a.Plan, ep: a.ep, hub: a.Hub, of: map[ID]*relay{}, shared: shared, leaves: leaves, clock: func() int { return 0 }}
	for k, l := range a.training {
		r := a.relay(l, &a.ep.stats)
		r.own = own[k]
		if a.beyond[0] != nil {
			r.beyond = a.relay(a.beyond[0][k], &a.ep.stats)
			r.beyond.own = leaving[k]
		}
		train.relays, train.of[l.ID], train.lags = append(train.relays, r), r, train.lags || r.lags()
		if r.lags() && !l.keeps && l.readers[i].rows[1] > 0 {
			train.turns = append(train.turns, r)
		}
	}
	for k, l := range a.evaluation {
		r := a.relay(l, new(jaca.Stats))
		if a.beyond[1] != nil {
			r.beyond = a.relay(a.beyond[1][k], new(jaca.Stats))
		}
		eval.relays, eval.of[l.ID] = append(eval.relays, r), r
	}
	a.place(train, eval)
	a.landings(train, false)
	if a.beyond[0] != nil {
		a.landings(train, true)
	}
	for _, r := range train.relays {
		r.clear()
	}
	return train, eval
}

// relay returns the part's side of one exchange, without its halo rows.
func (a *attachment) relay(l *traffic, stats *jaca.Stats) *relay {
	i := a.ep.Part
	s := &side{traffic: l, ep: a.ep, hub: a.Hub, stats: stats, fresh: a.ep.Fresh[0] != nil && !l.across && l.periods != nil && l.pipelined && !l.ages, net: a.Net}
	mine := &l.readers[i]
	r := &relay{side: s, sender: sender{side: s, at: []int{0}, last: make([]gpu.Event, l.classes), areas: [2]uint32{a.area(l, i, false), a.area(l, i, true)}, leaving: a.leavings(l)},
		receiver: receiver{side: s, mine: mine, bound: a.Staleness, pendingTransient: make([]*pendingTransient, len(mine.owners)), far: a.farOwners(l, mine)}}
	r.now.queue, r.renewal.queue, r.ahead.queue = a.ep.Local, a.ep.Local, a.ep.Prefetch
	if r.fresh {
		r.now.queue = a.ep.Fresh[0]
	}
	if l.across { // brought behind what the part waits for on the host
		r.renewal.queue = a.ep.Prefetch
	}
	list := a.sendList(r)
	for range 1 + l.classes {
		made := make([]int, len(r.mine.owners))
		for o := range made {
			made[o] = -1
		}
		r.made = append(r.made, made)
	}
	for range l.classes {
		r.books = append(r.books, make([]book, len(r.mine.owners)))
	}
	if !a.ep.Accounts {
		r.mine.lanes = newLanes(len(r.mine.owners))
	}
	r.list = a.ep.Memory.Upload("halo send list", list)
	if l.returned {
		r.inner = a.returnedRows(l)
	}
	if l.coding.packed() {
		r.vertices, r.seed = a.ep.Memory.Upload("vertex ids", a.senderVertices(l)), a.Model.Seed
	}
	return r
}

// sendList returns which rows of the part's matrix an exchange sends, block by block, and notes where those of each reader, rank and global cache begin.
func (a *attachment) sendList(r *relay) []int32 {
	l, i := r.traffic, a.ep.Part
	list, sources := []int32(nil), a.sources(l)
	for b := range 1 + l.classes {
		to := make([]int, 0, len(l.senders[i])+1)
		add := func(ids []graph.NodeID) {
			for _, v := range ids {
				list = append(list, sources[v])
			}
		}
		for _, s := range l.senders[i] {
			to = append(to, len(list))
			add(l.readers[s.reader].vertices(b, s.at))
		}
		to = append(to, len(list))
		for k := range r.leaving {
			x := &r.leaving[k]
			x.direct = append(x.direct, len(list)-r.at[b])
			add(x.crossing.direct[b])
		}
		for k := range r.leaving {
			x := &r.leaving[k]
			x.shared = append(x.shared, len(list)-r.at[b])
			add(x.crossing.shared[b])
		}
		if b > 0 && l.global != nil {
			add(l.global[b-1][i])
		}
		r.to, r.at = append(r.to, to), append(r.at, len(list))
	}
	return list
}

// sendBuffers returns the send buffer of rows that are used at once, and that of every exchange whose rows are used later.
func (a *attachment) sendBuffers(training, evaluation []*traffic) (shared *sendBuffer, own []*sendBuffer) {
	own = make([]*sendBuffer, len(training))
	i := a.ep.Part
	var size gpu.Bytes
	staged := map[int]gpu.Bytes{}
	both := slices.Concat(training, evaluation)
	for _, l := range both {
		all, _ := l.sendRows(i)
		size = max(size, l.wireRow()*gpu.Bytes(all))
		for j, n := range a.staged(l, l.every()) {
			staged[j] = max(staged[j], n)
		}
	}
	shared = a.sendBuffer(0, size, both...)
	a.stage(shared, staged)
	for k, l := range training {
		if !l.pipelined {
			continue
		}
		_, usual := l.sendRows(i)
		own[k] = a.sendBuffer(1, l.wireRow()*gpu.Bytes(usual), l)
		a.stage(own[k], a.staged(l, l.every()))
	}
	return shared, own
}

// sendBuffer takes the memory of a send buffer of exchanges. Where rows end in half a word it begins as zeros: rows are copied in whole words.
func (a *attachment) sendBuffer(number int, size gpu.Bytes, exchanges ...*traffic) *sendBuffer {
	b := &sendBuffer{ep: a.ep, number: number, send: a.ep.Memory.Alloc(size, "halo send buffer")}
	if n := int(size / 4); b.send != nil && n > 0 && slices.ContainsFunc(exchanges, func(t *traffic) bool { return t.halfWord() }) {
		a.ep.Compute.Fill(gpu.Matrix{Buf: b.send, Rows: 1, Cols: n, LD: n}, 0)
	}
	return b
}

// staged returns the bytes that pass through the host on their way to each reader that does not reach the device.
func (a *attachment) staged(l *traffic, blocks []int) map[int]gpu.Bytes {
	out := map[int]gpu.Bytes{}
	for _, s := range l.senders[a.ep.Part] {
		if !a.ep.Reached[s.reader] {
			out[s.reader] = l.wireRow() * gpu.Bytes(l.readers[s.reader].takes(s.at, blocks))
		}
	}
	return out
}

// stage takes the host memory of a send buffer.
func (a *attachment) stage(b *sendBuffer, bytes map[int]gpu.Bytes) {
	var total gpu.Bytes
	for _, n := range bytes {
		total += n
	}
	b.stages = make(map[int][]byte, len(bytes))
	a.ep.staged += total
	mem := a.ep.Memory.Pin("staging", total)
	if mem == nil {
		return
	}
	for _, j := range slices.Sorted(maps.Keys(bytes)) {
		n := bytes[j]
		b.stages[j], mem = mem[:n:n], mem[n:]
	}
}

// place gives every exchange its halo matrix.
func (a *attachment) place(train, eval *Exchange) {
	var local gpu.Bytes // of slots
	bases := make([]gpu.Bytes, len(train.relays))
	for _, k := range widestFirst(train.relays) {
		if r := train.relays[k]; !r.keeps {
			bases[k] = local
			local += (r.rowBytes(r.mine.rows[0]) + slotAlign - 1) / slotAlign * slotAlign
		}
	}
	var halves [2]gpu.Bytes
	turn := make([]int, len(train.relays))
	for k, r := range train.relays {
		turn[k] = (slices.Index(train.turns, r) + 1) % 2 // the first turn's is not the place that evaluation uses
		if !r.keeps {
			halves[turn[k]] = max(halves[turn[k]], r.transientBytes())
		}
	}
	for _, r := range eval.relays {
		halves[0] = max(halves[0], r.transientBytes())
	}
	at := [2]gpu.Bytes{local, local + (halves[0]+slotAlign-1)/slotAlign*slotAlign}
	buf := a.ep.Memory.Alloc(at[1]+halves[1], "halo rows")
	for k, r := range train.relays {
		if r.keeps {
			rows := max(len(r.mine.ids), r.mine.total())
			r.hold(a.ep.Memory.Alloc(r.rowBytes(rows), "kept halo rows"), 0, r.rowBytes(r.mine.rows[0]))
			r.halo.Rows = rows
		} else {
			r.hold(buf, bases[k], at[turn[k]])
		}
	}
	for _, r := range eval.relays {
		r.hold(buf, at[0], at[0])
	}
	for _, r := range slices.Concat(train.relays, eval.relays) {
		if b := r.beyond; b != nil {
			b.halo, b.local, b.transient = r.halo, r.local, r.transient
		}
	}
}

// widestFirst returns the places of relays by falling size of a row. A halo matrix spans what lies between its local slots and
// its transient rows, and so do scales that go with its rows: of narrow rows that would be many.
func widestFirst(relays []*relay) []int {
	order := make([]int, len(relays))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(relays[b].rowBytes(1), relays[a].rowBytes(1)) })
	return order
}

// slotAlign is the alignment of the first row of an exchange, in bytes.
const slotAlign = 64

// transientBytes returns the room for transient rows. They begin a whole number of rows behind the local slots, so there is
// one row to spare.
func (r *receiver) transientBytes() gpu.Bytes {
	if n := r.mine.rows[1]; n > 0 {
		return r.rowBytes(n + 1)
	}
	return 0
}

// hold sets the halo matrix: local slots from byte base on, transient rows from byte next on or a little behind.
func (r *receiver) hold(buf gpu.Buffer, base, next gpu.Bytes) {
	n := r.mine.rows
	row := r.rowBytes(1)
	if n[0] == 0 {
		base = next
	}
	first := int((next - base + row - 1) / row)
	rows := n[0]
	if n[1] > 0 {
		rows = first + n[1]
	}
	r.halo = gpu.Matrix{Buf: buf, Off: int(base / gpu.Bytes(r.dtype.Size())), Rows: rows, Cols: r.width, LD: r.width, Type: r.dtype}
	r.local = r.halo.RowRange(0, n[0])
	if n[1] > 0 {
		r.transient = r.halo.RowRange(first, rows)
	}
}

// rowOf returns the row of the halo matrix of every halo index, −1 for those that nobody reads; nil if each is the halo index.
func (r *receiver) rowOf() []int32 {
	out := slices.Clone(r.mine.place)
	shift := int32(0)
	if r.mine.rows[1] > 0 {
		shift = int32((r.transient.Off-r.halo.Off)/r.width - r.mine.rows[0])
	}
	for k, p := range out {
		if int(p) >= r.mine.rows[0] {
			out[k] = p + shift
		}
	}
	return out
}

// Placement says where the halo rows of an exchange lie when Wait has returned.
type Placement struct {
	ID
	Halo gpu.Matrix
	Row  []int32 // by halo index: row of Halo, −1: nobody reads it; nil: each is the halo index
	// Inner is, of gradients that are returned, the row of this part that each is of, by halo index; −1: it is not exchanged.
	Inner []int32
}

// Placements says where the halo rows of all exchanges lie, in the order of an epoch.
func (x *Exchange) Placements() []Placement {
	var all []Placement
	for _, r := range x.relays {
		all = append(all, Placement{ID: r.ID, Halo: r.halo, Row: r.rowOf(), Inner: r.inner})
	}
	return all
}
