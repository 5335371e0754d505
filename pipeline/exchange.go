package pipeline

import (
	"context"
	"fmt"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
)

// leg names one exchange of an epoch.
type leg struct {
	layer int
	dir   gnn.Direction
}

func (l leg) String() string { return fmt.Sprintf("layer %d %s", l.layer, l.dir) }

// ticket tells a reader where an owner's rows are and when they are ready.
type ticket struct {
	ready  gpu.Event
	rows   gpu.Matrix // in the owner's send buffer
	staged []byte     // host copy of the rows, where the reader cannot reach the owner's memory
}

// hub connects the workers of a run: one mailbox per ordered pair and purpose.
type hub struct {
	ctx      context.Context // ends when any worker fails
	deadline time.Duration
	mail     [][]chan ticket    // [owner][reader]
	taken    [][]chan gpu.Event // [owner][reader]: fires when the reader has copied the rows
	epoch    int
}

func newHub(ctx context.Context, parts int, deadline time.Duration) *hub {
	h := &hub{ctx: ctx, deadline: deadline}
	for range parts {
		mail, taken := make([]chan ticket, parts), make([]chan gpu.Event, parts)
		for j := range parts {
			// One exchange is under way per pair at any time, so senders never block.
			mail[j], taken[j] = make(chan ticket, 1), make(chan gpu.Event, 1)
		}
		h.mail, h.taken = append(h.mail, mail), append(h.taken, taken)
	}
	return h
}

// waitFault ends a worker's epoch: another worker did not answer.
type waitFault struct{ err error }

// echoError is what a worker reports when another one ended the run.
type echoError struct{ err error }

func (e *echoError) Error() string { return e.err.Error() }
func (e *echoError) Unwrap() error { return e.err }

// receive takes one value from ch. It panics with waitFault when the run is over or the deadline has passed: who waits for
// whom is in the error. The worker recovers it.
func receive[T any](h *hub, ch <-chan T, waiter, owner int, what string) T {
	select {
	case v := <-ch:
		return v
	default:
	}
	timer := time.NewTimer(h.deadline)
	defer timer.Stop()
	select {
	case v := <-ch:
		return v
	case <-h.ctx.Done():
		panic(waitFault{&echoError{context.Cause(h.ctx)}})
	case <-timer.C:
		panic(waitFault{fmt.Errorf("epoch %d: part %d waited %v for part %d: %s", h.epoch, waiter, h.deadline, owner, what)})
	}
}

// route is one exchange as one worker takes part in it.
type route struct {
	width  int
	dtype  gpu.DType
	send   gpu.Ints   // local rows to send, readers in part order
	sendTo []int      // rows for each reader
	recvOf []int      // rows from each owner
	recvAt []int      // first row in the halo matrix of each owner
	halo   gpu.Matrix // where the rows arrive
}

// exchange is a worker's synchronous exact halo exchange: every row that is read remotely moves in every epoch.
//
// Method: pack the rows of all readers into one buffer on the compute queue; each reader copies its contiguous share on
// its own copy queue. The buffer is packed again when all readers have copied.
type exchange struct {
	w      *worker
	hub    *hub
	send   gpu.Buffer
	unread []int     // readers that have not confirmed the last send
	packed gpu.Event // the last send is packed, and what the halo matrix held before has been read
}

// routed is an exchange over one set of routes: training's or evaluation's. It implements gnn.Halo.
type routed struct {
	*exchange
	routes map[leg]*route
}

var _ gnn.Halo = routed{}

// Begin implements gnn.Halo.
func (x routed) Begin(q gpu.Queue, layer int, dir gnn.Direction, rows gpu.Matrix) {
	l := leg{layer, dir}
	r := x.routes[l]
	if rows.Cols != r.width || rows.Type != r.dtype {
		panic(fmt.Sprintf("pipeline: %v: %d columns of %v, planned %d of %v", l, rows.Cols, rows.Type, r.width, r.dtype))
	}
	x.confirm(q)
	if r.send.Len > 0 {
		q.Gather(gpu.Matrix{Buf: x.send, Rows: r.send.Len, Cols: r.width, LD: r.width, Type: r.dtype}, rows, r.send)
	}
	x.packed = q.Record()
	at := 0
	for j, n := range r.sendTo {
		if n == 0 {
			continue
		}
		t := ticket{ready: x.packed, rows: gpu.Matrix{Buf: x.send, Off: at * r.width, Rows: n, Cols: r.width, LD: r.width, Type: r.dtype}}
		if !x.w.reachableFrom(j) {
			t = x.stage(t, j)
		}
		x.hub.mail[x.w.index][j] <- t
		x.unread = append(x.unread, j)
		at += n
	}
}

// confirm makes q wait until every reader of the last send has copied its rows.
func (x *exchange) confirm(q gpu.Queue) {
	for _, j := range x.unread {
		q.Wait(receive(x.hub, x.hub.taken[x.w.index][j], x.w.index, j, "to take halo rows"))
	}
	x.unread = x.unread[:0]
}

// stage copies the rows of a ticket to host memory for a reader that cannot reach this device.
func (x *exchange) stage(t ticket, reader int) ticket {
	w := x.w
	size := t.rows.Type.Size()
	t.staged = w.staging(reader, size*t.rows.Rows*t.rows.Cols)
	w.out.Wait(t.ready)
	w.out.Download(t.staged, t.rows.Buf, gpu.Bytes(size)*gpu.Bytes(t.rows.Off))
	t.ready = w.out.Record()
	return t
}

// Wait implements gnn.Halo.
func (x routed) Wait(q gpu.Queue, layer int, dir gnn.Direction) gpu.Matrix {
	w, r := x.w, x.routes[leg{layer, dir}]
	w.in.Wait(x.packed) // what the halo matrix held before has been read
	parts := len(r.recvOf)
	for k := 1; k < parts; k++ {
		o := (w.index + k) % parts
		if r.recvOf[o] == 0 {
			continue
		}
		t := receive(x.hub, x.hub.mail[o][w.index], w.index, o, fmt.Sprintf("halo rows of %v", leg{layer, dir}))
		w.in.Wait(t.ready)
		dst := r.halo.RowRange(r.recvAt[o], r.recvAt[o]+r.recvOf[o])
		if t.staged != nil {
			w.in.Upload(dst.Buf, gpu.Bytes(dst.Type.Size())*gpu.Bytes(dst.Off), t.staged)
		} else {
			copyRows(w.in, dst, t.rows, w.peers[o])
		}
		x.hub.taken[o][w.index] <- w.in.Record()
	}
	q.Wait(w.in.Record())
	return r.halo
}

// copyRows copies between devices, or within one where both parts live on it.
func copyRows(q gpu.Queue, dst, src gpu.Matrix, same bool) {
	if same {
		q.Copy(dst, src)
		return
	}
	q.(gpu.PeerCopier).CopyFrom(dst, src)
}
