package halo

import (
	"cmp"
	"fmt"

	"capgnn/gpu"
	"capgnn/internal/meet"
)

// sendBuffer holds packed rows until their readers have copied them, on the device, and on the host for readers
// that cannot reach the device.
type sendBuffer struct {
	ep      *Endpoint
	number  int // as in shipment.buffer
	send    gpu.Buffer
	stages  map[int][]byte // by reader
	unread  []unread
	drained gpu.Event // what goes to the host has left the send buffer; nil: nothing does
}

// unread is a reader that has not confirmed to have copied its rows.
type unread struct {
	exchange ID
	reader   int
	staged   bool
	taken    <-chan gpu.Event
}

// confirm makes q wait until the send buffer can be written again, and copies to the host on queue out until their memory can be.
func (b *sendBuffer) confirm(h *meet.Hub, q, out gpu.Queue) {
	for _, u := range b.unread {
		copied := meet.ReceiveRoom(h, u.taken, b.ep.Part, u.reader, "to take halo rows")
		if u.staged {
			b.ep.Waits.ForRoom(out, copied, u.reader, u.exchange, "to take halo rows")
		}
		if !u.staged {
			b.ep.Waits.ForRoom(q, copied, u.reader, u.exchange, "to take halo rows")
		}
	}
	b.unread = b.unread[:0]
	if b.drained != nil {
		q.Wait(b.drained)
		b.drained = nil
	}
}

// send packs blocks of rows into a send buffer, puts into the global cache what belongs there, and tells the readers.
func (r *sender) send(q gpu.Queue, box *sendBuffer, rows gpu.Matrix, epoch int, blocks []int) {
	box.confirm(r.hub, q, r.out())
	starts := r.pack(q, box, rows, epoch, blocks)
	ready := q.Record()
	shared := r.publish(box, ready, starts, epoch, blocks)
	for n, s := range r.senders[r.ep.Part] {
		if r.readers[s.reader].reads(s.at, blocks) {
			t := shipment{epoch: epoch, buffer: box.number, blocks: blocks, ready: ready, shared: shared}
			r.post(box, &t, starts, n)
		}
	}
	r.leave(box, ready, starts, epoch, blocks)
}

// pack encodes the rows of blocks into the send buffer and returns where each block begins, in rows.
func (r *sender) pack(q gpu.Queue, box *sendBuffer, rows gpu.Matrix, epoch int, blocks []int) []int {
	starts := make([]int, len(blocks))
	at := 0
	for k := 0; k < len(blocks); {
		next := k + 1 // blocks that follow each other are packed at once
		for next < len(blocks) && blocks[next] == blocks[next-1]+1 {
			next++
		}
		lo, hi := r.at[blocks[k]], r.at[blocks[next-1]+1]
		for i := k; i < next; i++ {
			starts[i] = at + r.at[blocks[i]] - lo
		}
		if n := hi - lo; n > 0 {
			r.encode(q, r.wire(box.send, at, n), rows, r.list.Slice(lo, lo+n), r.idsOf(rows), epoch)
		}
		at += hi - lo
		k = next
	}
	return starts
}

// pieceBytes is how much a copy moves at most. Copies of several queues take turns on a link, so gradients and weights, for
// which devices wait, get through beside halo rows, for which with the pipeline there is an epoch of time; and rows that
// pass through the host leave it while others are on their way there. At 12 GB/s a piece takes 44 µs, a few times what
// starting it does.
const pieceBytes = 512 << 10

// pieceRows is the most rows of a piece. With the pipeline pieces are a quarter: every exchange's rows are under way at once, and
// what a device waits for stands behind a piece of each.
func (t *traffic) pieceRows() int {
	size := gpu.Bytes(pieceBytes)
	if t.pipelined {
		size /= 4
	}
	return max(1, int(cmp.Or(t.piece, size)/t.wireRow()))
}

// eachPiece calls f for rows lo to hi of n, a piece after the other.
func (t *traffic) eachPiece(n int, f func(lo, hi int)) {
	step := t.pieceRows()
	for lo := 0; lo < n; lo += step {
		f(lo, min(n, lo+step))
	}
}

// download enqueues the copy of packed rows to the host. piece, if not nil, is called behind each piece, of rows lo to hi.
func (r *sender) download(dst []byte, m gpu.Matrix, piece func(lo, hi int)) {
	row := int(r.wireRow())
	r.eachPiece(m.Rows, func(lo, hi int) {
		part := m.RowRange(lo, hi)
		r.out().Download(dst[lo*row:hi*row], part.Buf, gpu.Bytes(part.Type.Size())*gpu.Bytes(part.Off))
		if piece != nil {
			piece(lo, hi)
		}
	})
	r.stats.Bytes.D2H += gpu.Bytes(len(dst))
}

// publish copies the rows of this part that are due in the global cache to their blocks, and marks them as readable.
func (r *sender) publish(box *sendBuffer, ready gpu.Event, starts []int, epoch int, blocks []int) (shared []entry) {
	for k, b := range blocks {
		if b == 0 || r.blocks == nil || r.blocks[b-1][r.ep.Part] == nil {
			continue
		}
		block := r.blocks[b-1][r.ep.Part]
		if last := r.last[b-1]; last != nil { // with the pipeline it may be under way still
			meet.Receive(r.hub, last.Done(), r.ep.Part, r.ep.Part, "to publish rows of "+r.ID.String())
		}
		mem, err := block.Begin(epoch)
		if err != nil {
			meet.Stop(err)
		}
		if shared == nil {
			shared = make([]entry, len(blocks))
			r.out().Wait(ready)
		}
		e := &shared[k]
		e.epoch, e.rows = epoch, mem
		n := len(r.global[b-1][r.ep.Part])
		r.download(mem, r.wire(box.send, starts[k]+r.at[b+1]-r.at[b]-n, n), func(int, int) { e.pieces = append(e.pieces, r.out().Record()) })
		r.out().Call("publish cached rows", block.Publish)
		r.refreshed(b, epoch, n)
	}
	if shared != nil {
		published := r.out().Record()
		box.drained = published
		for k, b := range blocks {
			if shared[k].rows != nil {
				shared[k].published, r.last[b-1] = published, published
			}
		}
	}
	return shared
}

// post tells the n-th reader where its rows are, on the host if it cannot reach the device.
func (r *sender) post(box *sendBuffer, t *shipment, starts []int, n int) {
	for k, b := range t.blocks {
		to := r.to[b]
		t.rows = append(t.rows, r.wire(box.send, starts[k]+to[n]-r.at[b], to[n+1]-to[n]))
	}
	s := r.senders[r.ep.Part][n]
	theirs := &r.readers[s.reader]
	direct := theirs.takes(s.at, t.blocks) > 0
	staged := direct && !r.ep.Reached[s.reader]
	if staged {
		r.stage(box, t, s.reader)
	}
	l := theirs.lanes[s.at]
	l.post(*t)
	if direct {
		box.unread = append(box.unread, unread{exchange: r.ID, reader: s.reader, staged: staged, taken: l.confirmed(box.number)})
	}
}

// stage copies the rows of a shipment to host memory.
func (r *sender) stage(box *sendBuffer, t *shipment, reader int) {
	r.out().Wait(t.ready)
	mem := box.stages[reader]
	t.staged, t.pieces = make([][]byte, len(t.blocks)), make([][]gpu.Event, len(t.blocks))
	for k, m := range t.rows {
		if m.Rows == 0 {
			continue
		}
		n := int(r.wireRow()) * m.Rows
		if n > len(mem) {
			panic(fmt.Sprintf("halo: %v: %d bytes to stage for part %d, planned %d", r.ID, n, reader, len(mem)))
		}
		t.staged[k], mem = mem[:n], mem[n:]
		r.download(t.staged[k], m, func(int, int) { t.pieces[k] = append(t.pieces[k], r.out().Record()) })
		r.refreshed(t.blocks[k], t.epoch, m.Rows)
	}
	box.drained = r.out().Record()
}
