package halo

import (
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/meet"
	"capgnn/jaca"
	"capgnn/pipeline/halo/dynamic"
)

// dynamicSide is one part's side of an exchange under a dynamic policy. Halo rows lie in local slots and where they arrive, and are put
// together in the order of halo indices, which is the order that local slots are renewed from.
type dynamicSide struct {
	*relay
	assembled gpu.Matrix // as aggregations read it
	from      gpu.Ints   // by halo index: row of relay.halo
	slots     gpu.Ints   // by local slot: row of assembled
}

// withDynamicCaches returns an exact exchange with empty caches of so many slots.
func (p *Plan) withDynamicCaches(t traffic, local []int, global int) *traffic {
	x := dynamic.Exchange{Layer: t.Layer, LocalOf: p.sources(&t), Row: t.wireRow(), Bound: p.Staleness.Bound, Schedule: t.schedule}
	x.Reach = p.reaches
	x.Stale = func(part, owner int, rows string, err error) error {
		return &StaleError{Part: part, Owner: owner, Exchange: t.ID.String(), Rows: rows, Err: err}
	}
	readers := t.readers
	t.readers = nil
	for i, r := range readers {
		r.rows = [2]int{local[i], r.lookups}
		t.readers = append(t.readers, r)
		x.Readers = append(x.Readers, dynamic.Reader{Owners: r.owners, IDs: r.ids})
	}
	for _, to := range t.senders {
		var targets []dynamic.Target
		for _, s := range to {
			targets = append(targets, dynamic.Target{Reader: s.reader, At: s.at})
		}
		x.Senders = append(x.Senders, targets)
	}
	t.dynamic = dynamic.NewExchange(x, local, global)
	return &t
}

// newDynamicCaches returns the caches of all exchanges with dynamic ones.
func (p *Plan) newDynamicCaches() *dynamic.Caches {
	var all []*dynamic.Exchange
	for _, l := range p.training {
		if l.dynamic != nil {
			all = append(all, l.dynamic)
		}
	}
	return dynamic.New(p.caches, all)
}

// resumeDynamic puts dynamic caches into the state behind the epochs that a checkpoint has seen.
func (p *Plan) resumeDynamic(c *checkpoint.File, piece []byte) error {
	if err := p.dynamic.Reach(c.Epoch); err != nil {
		return err
	}
	for _, l := range p.training {
		if l.dynamic == nil {
			continue
		}
		rows, used := c.Sections[l.section(0, "slots")], l.dynamic.Used()
		if size := checkpoint.Size(rows); size != int64(l.wireRow())*int64(used) {
			return otherHalo("%d bytes in %d slots", size, used)
		}
		if err := l.dynamic.Load(rows, piece); err != nil {
			return err
		}
	}
	return nil
}

// begin implements way: it packs what the epoch's agenda says, and publishes what goes over the host.
func (r *dynamicSide) begin(q gpu.Queue, box *sendBuffer, rows gpu.Matrix, epoch int) {
	a := r.dynamic.Agenda()
	s := &a.Sends[r.ep.Part]
	box.confirm(r.hub, q, r.out())
	if n := len(s.List); n > 0 {
		q.Upload(r.list.Buf, 4*gpu.Bytes(r.list.Off), hostmem.Bytes(s.List))
		r.encode(q, r.wire(box.send, 0, n), rows, r.list.Slice(0, n), r.idsOf(rows), epoch)
	}
	ready := q.Record()
	area, published := r.publishAgenda(box, ready, s, epoch)
	for n, reads := range r.senders[r.ep.Part] {
		j := reads.reader
		direct, shared := s.To[n].N > 0, len(a.Gets[j].Shared[reads.at].Rows) > 0
		if !direct && !shared {
			continue
		}
		t := shipment{epoch: epoch, buffer: box.number, blocks: []int{0}, ready: ready, shared: []entry{{epoch: epoch, rows: area, published: published}},
			rows: []gpu.Matrix{r.wire(box.send, s.To[n].First, s.To[n].N)}}
		staged := direct && !r.ep.Reached[j]
		if staged {
			r.stage(box, &t, j)
		}
		l := r.readers[j].lanes[reads.at]
		l.post(t)
		box.unread = append(box.unread, unread{exchange: r.ID, reader: j, staged: staged, shared: shared, taken: l.confirmed(box.number)})
	}
}

// publishAgenda copies published rows to the host, for readers of this epoch, and those that stay to their slots.
func (r *dynamicSide) publishAgenda(box *sendBuffer, ready gpu.Event, s *dynamic.Sending, epoch int) (area []byte, published gpu.Event) {
	if s.Published.N == 0 {
		return nil, nil
	}
	row := int(r.wireRow())
	area = box.area[:row*s.Published.N]
	r.out().Wait(ready)
	r.download(area, r.wire(box.send, s.Published.First, s.Published.N), nil)
	published = r.out().Record()
	box.drained = published
	puts, slots := s.Puts, r.dynamic.Slots
	r.out().Call("keep cached rows", func() error {
		for _, p := range puts {
			if err := slots.Put(p.Row, epoch, area[p.At*row:][:row]); err != nil {
				return err
			}
		}
		return nil
	})
	return area, published
}

// wait implements way: it brings the rows that the epoch's agenda says, on the local queue, puts the halo matrix together and renews local
// slots.
func (r *dynamicSide) wait(compute gpu.Queue, packed gpu.Event, epoch int) gpu.Matrix {
	in := &r.now
	q := in.queue
	q.Wait(packed)
	g := &r.dynamic.Agenda().Gets[r.ep.Part]
	r.eachOwner(func(at int) {
		if g.Direct[at].N > 0 || len(g.Shared[at].Rows) > 0 {
			r.fetchFrom(in, g, at, epoch)
		}
	})
	if p := g.Cached; len(p.Rows) > 0 {
		slots, made := r.dynamic.Slots, g.Made
		check := func() error { return slots.Check(p.Rows, made) }
		q.Call("find cached rows", check)
		r.fromHost(in, p, slots.Rows())
		q.Call("check cached rows", check)
	}
	in.close()
	r.settle(q, in)
	r.assemble(q, g)
	r.stats.Add(g.Stats)
	compute.Wait(q.Record())
	return r.assembled
}

// matrix implements way.
func (r *dynamicSide) matrix() gpu.Matrix { return r.assembled }

// fetchFrom brings the rows of the owner at a place.
func (r *dynamicSide) fetchFrom(in *inlet, g *dynamic.Getting, at, epoch int) {
	t, owner := r.take(at), int(r.mine.owners[at])
	if t.epoch != epoch {
		meet.Stop(&StaleError{Part: r.ep.Part, Owner: owner, Exchange: r.ID.String(), Rows: "of an agenda",
			Err: fmt.Errorf("epoch %d finds rows of epoch %d", epoch, t.epoch)})
	}
	if d := g.Direct[at]; d.N > 0 {
		if t.staged == nil {
			r.ep.Waits.For(in.queue, t.ready, owner, r.ID, "halo rows")
		}
		r.bring(in, r.transient.RowRange(d.First, d.First+d.N), &t, 0, owner)
	}
	if p := g.Shared[at]; len(p.Rows) > 0 {
		r.ep.Waits.For(in.queue, t.shared[0].published, owner, r.ID, "cached halo rows")
		r.fromHost(in, p, t.shared[0].rows)
	}
	r.confirm(in.queue, at, &t)
}

// fromHost copies rows of host memory to where they arrive.
func (r *dynamicSide) fromHost(in *inlet, p dynamic.Picked, mem []byte) {
	dst := r.transient.RowRange(p.First, p.First+len(p.Rows))
	r.eachPiece(dst.Rows, func(lo, hi int) {
		in.queue.UploadRows(r.open(in, dst.RowRange(lo, hi), false), mem, p.Rows[lo:hi])
	})
	r.stats.Bytes.H2D += gpu.Bytes(len(p.Rows)) * r.wireRow()
}

// assemble puts the halo matrix together, then local slots in the state that the policy has left them in.
func (r *dynamicSide) assemble(q gpu.Queue, g *dynamic.Getting) {
	if r.mine.lookups == 0 {
		return
	}
	first, slots := int32((r.transient.Off-r.halo.Off)/r.width), int32(r.mine.rows[0])
	from := g.From
	if first != slots {
		from = make([]int32, len(g.From))
		for k, x := range g.From {
			if from[k] = x; x >= slots {
				from[k] = x - slots + first
			}
		}
	}
	q.Upload(r.from.Buf, 0, hostmem.Bytes(from))
	q.Gather(r.assembled, r.halo, r.from.Slice(0, len(from)))
	if n := len(g.Renewed); n > 0 {
		q.Upload(r.slots.Buf, 0, hostmem.Bytes(g.Renewed))
		q.Gather(r.local.RowRange(0, n), r.assembled, r.slots.Slice(0, n))
	}
}

// assemblies takes the memory in which halo matrices are put together: one for all exchanges but those whose rows are read again,
// and the lists for it.
func (a *attachment) assemblies(train *Exchange, box *sendBuffer) {
	if !slices.ContainsFunc(train.relays, func(r *relay) bool { return r.dynamic != nil }) {
		return
	}
	var halo, area gpu.Bytes
	ids, slots := 0, 0
	for _, r := range train.relays {
		if r.dynamic == nil {
			continue
		}
		if n := len(r.mine.ids); !r.keeps {
			halo = max(halo, r.rowBytes(n))
		}
		ids, slots = max(ids, len(r.mine.ids)), max(slots, r.mine.rows[0])
		area = max(area, r.wireRow()*gpu.Bytes(r.outgoing(a.ep.Part)[0]))
	}
	ints := func(n int, name string) gpu.Ints {
		return gpu.Ints{Buf: a.ep.Memory.Alloc(4*gpu.Bytes(n), name), Len: n}
	}
	from, kept := ints(ids, "places of halo rows"), ints(slots, "rows of local slots")
	shared := a.ep.Memory.Alloc(halo, "halo rows put together")
	for _, r := range train.relays {
		if r.dynamic == nil {
			continue
		}
		n, buf := len(r.mine.ids), shared
		if r.keeps {
			buf = a.ep.Memory.Alloc(r.rowBytes(n), "kept halo rows")
		}
		r.way = &dynamicSide{r, gpu.Matrix{Buf: buf, Rows: n, Cols: r.width, LD: r.width, Type: r.dtype}, from, kept}
	}
	box.area = a.ep.Memory.Pin("published halo rows", area)
}

// cacheSlots returns how many slots the caches of an exchange have: as the capacities say, and not more than rows.
func cacheSlots(t *jaca.Table, c *jaca.Capacities) (local []int, global int) {
	for i, n := range c.Local {
		local = append(local, min(n, len(t.Halos[i].IDs)))
	}
	ids, _ := jaca.Overlap(&t.Exchange)
	return local, min(c.Global, len(ids))
}
