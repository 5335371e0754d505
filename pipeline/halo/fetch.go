package halo

import (
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/meet"
)

// take receives the shipment of an exchange from the owner at a place.
func (r *receiver) take(at int) shipment {
	return meet.Receive(r.hub, r.mine.lanes[at].posted(), r.ep.Part, int(r.mine.owners[at]), fmt.Sprintf("halo rows of %v", r.ID))
}

// pendingTransient is a shipment of the last epoch whose rows without a slot (transient rows) have not been copied yet.
type pendingTransient struct {
	shipment
	kept gpu.Event // the others have been copied
}

// confirm tells an owner that what has been enqueued on q so far was all that the part copies of a shipment's rows.
func (r *receiver) confirm(q gpu.Queue, at int, t *shipment) {
	r.mine.lanes[at].confirm(t.buffer, q.Record())
}

// eachOwner calls f for the places of all owners, the next part first: so that not all readers begin with the same.
func (r *receiver) eachOwner(f func(at int)) {
	n := len(r.mine.owners)
	next, _ := slices.BinarySearch(r.mine.owners, int32(r.ep.Part))
	for k := range n {
		f((next + k) % n)
	}
}

// fetch brings all rows that an epoch uses and makes: those that are due, those that pass through, and those of other ranks.
func (r *receiver) fetch(in *fetchQueue, epoch int, blocks []int) {
	r.eachOwner(func(o int) {
		if r.far[o] != nil || !r.mine.reads(o, blocks) {
			return
		}
		t := r.take(o)
		r.arrive(in, o, &t, blocks)
		if r.mine.takes(o, blocks) > 0 {
			r.confirm(in.queue, o, &t)
		}
	})
	r.eachOwner(func(o int) {
		if r.far[o] != nil {
			r.fetchFar(in, o, epoch, blocks)
		}
	})
	r.pass(in, epoch)
	in.close()
}

// refresh brings the rows of an epoch whose classes are due, for the epochs behind it. Rows without a slot come too where they
// have memory of their own; otherwise their shipments are kept for prefetch.
func (r *receiver) refresh(in *fetchQueue, epoch int, blocks []int) {
	now := blocks
	if !r.keeps {
		now = blocks[1:]
	}
	r.eachOwner(func(o int) {
		if !r.mine.reads(o, blocks) {
			return
		}
		t := r.take(o)
		r.arrive(in, o, &t, now)
		switch {
		case !r.keeps && r.mine.direct[0][o].n > 0:
			r.pendingTransient[o] = &pendingTransient{t, in.queue.Record()}
		case r.mine.takes(o, blocks) > 0:
			r.confirm(in.queue, o, &t)
		}
	})
	if r.keeps {
		r.pass(in, epoch+1)
	}
	in.close()
}

// prefetch brings the rows without a local slot that an epoch uses: those that the one before has made, and others as the
// global cache has them.
func (r *receiver) prefetch(in *fetchQueue, epoch int) {
	for o, t := range r.pendingTransient {
		if t != nil {
			r.arrive(in, o, &t.shipment, t.blocks[:1])
			in.queue.Wait(t.kept)
			r.confirm(in.queue, o, &t.shipment)
			r.pendingTransient[o] = nil
		}
	}
	r.pass(in, epoch)
	in.close()
}

// drop gives back the rows that nobody will read, as a new schedule begins.
func (r *receiver) drop(q gpu.Queue) {
	for o, t := range r.pendingTransient {
		if t != nil {
			q.Wait(t.kept)
			r.confirm(q, o, &t.shipment)
			r.pendingTransient[o] = nil
		}
	}
}

// refreshed counts rows of a block that replace those of an earlier epoch.
func (s *side) refreshed(block, epoch, rows int) {
	if block > 0 && epoch != s.schedule().Start {
		s.stats.Bytes.Refresh += gpu.Bytes(rows) * s.wireRow()
	}
}

// arrive copies rows of the owner at a place to where they belong. blocks are those of the shipment that are to be copied.
func (r *receiver) arrive(in *fetchQueue, at int, t *shipment, blocks []int) {
	waited, owner := false, int(r.mine.owners[at])
	for k, b := range t.blocks {
		s := r.mine.direct[b][at]
		if !slices.Contains(blocks, b) {
			continue
		}
		r.made[b][at] = t.epoch
		if s.n == 0 {
			continue
		}
		if !waited && t.staged == nil {
			r.ep.Waits.For(in.queue, t.ready, owner, r.ID, "halo rows")
			waited = true
		}
		into := r.local
		if b == 0 {
			into = r.transient
		}
		r.bring(in, into.RowRange(s.first, s.first+s.n), t, k, owner)
		r.refreshed(b, t.epoch, s.n)
	}
	for k, b := range t.blocks {
		if b == 0 || !slices.Contains(blocks, b) || t.shared == nil || t.shared[k].rows == nil {
			continue
		}
		e := t.shared[k]
		r.books[b-1][at].note(e)
		if p := r.mine.shared[b-1][at]; len(p.rows) > 0 {
			r.look(in, e, b-1, owner, r.local, p)
			r.refreshed(b, t.epoch, len(p.rows))
		}
	}
}

// bring copies the rows of one block of a shipment, in pieces.
func (r *receiver) bring(in *fetchQueue, dst gpu.Matrix, t *shipment, k, owner int) {
	row, piece := int(r.wireRow()), 0
	r.eachPiece(dst.Rows, func(lo, hi int) {
		var staged []byte
		if t.staged != nil {
			staged = t.staged[k][lo*row : hi*row]
			r.ep.Waits.For(in.queue, t.pieces[k][piece], owner, r.ID, "halo rows")
			piece++
		}
		r.copyRows(in, dst.RowRange(lo, hi), t.rows[k].RowRange(lo, hi), staged, owner)
	})
}

// copyRows brings rows straight from their owner: from the host where they are staged, else from the owner's memory. They replace those of dst.
func (r *receiver) copyRows(in *fetchQueue, dst, src gpu.Matrix, staged []byte, owner int) {
	if staged == nil {
		r.stats.Bytes.Peer += gpu.Bytes(src.Rows) * r.wireRow()
	}
	switch at := r.open(in, dst); {
	case staged != nil:
		in.queue.Upload(at.Buf, gpu.Bytes(at.Type.Size())*gpu.Bytes(at.Off), staged)
		r.stats.Bytes.H2D += gpu.Bytes(len(staged))
	case r.ep.Peers[owner]: // one device
		in.queue.Copy(at, src)
	default:
		in.queue.(gpu.PeerCopier).CopyFrom(at, src)
	}
}

// pass brings the transient rows that the global cache holds, in the versions that the epoch uses.
func (r *receiver) pass(in *fetchQueue, epoch int) {
	for c := range r.mine.passing {
		want := r.schedule().Version(c, epoch)
		for at, p := range r.mine.passing[c] {
			if len(p.rows) > 0 {
				r.lookUp(in, c, at, want, r.transient, p)
			}
		}
	}
}

// lookUp is look of the rows that an owner at a place has made in an epoch.
func (r *receiver) lookUp(in *fetchQueue, class, at, epoch int, into gpu.Matrix, p selection) {
	owner := int(r.mine.owners[at])
	e, err := r.books[class][at].of(epoch)
	if err != nil {
		meet.Stop(&StaleError{Part: r.ep.Part, Owner: owner, Exchange: r.ID.String(),
			Rows: fmt.Sprintf("of class %d", class), Err: err})
	}
	r.look(in, e, class, owner, into, p)
}

// look copies rows of the global cache. A piece is copied once the pieces that it is made of have been published. The epoch of the
// block is checked before the first row is read and again after the last.
func (r *receiver) look(in *fetchQueue, e entry, class, owner int, into gpu.Matrix, p selection) {
	q, block := in.queue, r.blocks[class][owner]
	var reading hostmem.Reading
	q.Call("find cached rows", func() (err error) {
		reading, err = block.Follow(e.epoch)
		return err
	})
	dst, there := into.RowRange(p.first, p.first+len(p.rows)), 0
	r.eachPiece(dst.Rows, func(lo, hi int) {
		if n := int(p.rows[hi-1])/r.pieceRows() + 1; e.pieces != nil && n > there { // rows ascend, pieces come in order
			r.ep.Waits.For(q, e.pieces[n-1], owner, r.ID, "cached halo rows")
			there = n
		}
		q.UploadRows(r.open(in, dst.RowRange(lo, hi)), e.rows, p.rows[lo:hi])
	})
	if e.published != nil {
		r.ep.Waits.For(q, e.published, owner, r.ID, "cached halo rows")
	}
	q.Call("check cached rows", func() error { return reading.Check() })
	r.stats.Bytes.H2D += gpu.Bytes(len(p.rows)) * r.wireRow()
}
