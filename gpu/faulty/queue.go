package faulty

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"capgnn/gpu"
)

// errBroken is why an operation of Faults.Broken fails.
var errBroken = errors.New("broken on purpose")

// queue is a queue of a wrapped device. It implements gpu.Queue.
type queue struct {
	dev   *Device
	name  string
	inner gpu.Queue
	rng   *rand.Rand // of delays; the queue's caller draws

	mu    sync.Mutex
	fault *gpu.Fault
}

// peerQueue is one that copies from other devices. It implements gpu.PeerCopier.
type peerQueue struct {
	*queue
	peer gpu.PeerCopier
}

var (
	_ gpu.Queue      = (*queue)(nil)
	_ gpu.PeerCopier = (*peerQueue)(nil)
)

// do enqueues an operation, run, that writes out, unless something goes wrong.
func (q *queue) do(op string, run func(), out ...gpu.Matrix) {
	if q.own() != nil {
		return
	}
	f := q.dev.meet(q.name, op)
	switch {
	case f.lost:
		q.fail(op, gpu.ErrDeviceLost)
		return
	case f.broken:
		q.fail(op, errBroken)
		return
	case f.stalls:
		q.inner.Wait(q.dev.resume)
	}
	q.delay()
	run()
	if f.poisoned && len(out) > 0 {
		q.dev.ruin(q.inner, out)
	}
}

func (q *queue) fail(op string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fault = &gpu.Fault{Device: q.dev.Info().Name, Queue: q.name, Op: op, Err: err}
}

// own returns the fault that was made here, as an error; nil if there is none.
func (q *queue) own() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fault == nil {
		return nil
	}
	return q.fault
}

// delay pauses here or in the queue, if the draw says so.
func (q *queue) delay() {
	d := &q.dev.delays
	if d.Most == 0 || d.Queue != "" && d.Queue != q.name || d.Share != 0 && q.rng.Float64() >= d.Share {
		return
	}
	pause := time.Duration(q.rng.Int64N(int64(d.Most) + 1))
	if q.rng.IntN(2) == 0 {
		time.Sleep(pause)
		return
	}
	reached, over := q.inner.Record(), make(event)
	// Owned by the device: ends when the queue has come here and the pause is over; Close waits for it.
	q.dev.pauses.Go(func() {
		<-reached.Done()
		time.Sleep(pause)
		close(over)
	})
	q.inner.Wait(over)
}

// Record implements gpu.Queue.
func (q *queue) Record() gpu.Event {
	q.delay()
	return q.inner.Record()
}

// Wait implements gpu.Queue.
func (q *queue) Wait(ev gpu.Event) { q.inner.Wait(ev) }

// Call implements gpu.Queue. It is no operation.
func (q *queue) Call(op string, f func() error) {
	if q.own() == nil {
		q.inner.Call(op, f)
	}
}

// Fault implements gpu.Queue. A fault that was made here is there as soon as its operation has been enqueued.
func (q *queue) Fault() error {
	if err := q.inner.Fault(); err != nil {
		return err
	}
	return q.own()
}

// Sync implements gpu.Queue.
func (q *queue) Sync() error {
	if err := q.inner.Sync(); err != nil {
		return err
	}
	return q.own()
}

// Usage implements gpu.Queue.
func (q *queue) Usage() gpu.Usage { return q.inner.Usage() }

// Upload implements gpu.Queue.
func (q *queue) Upload(dst gpu.Buffer, off gpu.Bytes, src []byte) {
	q.do("Upload", func() { q.inner.Upload(dst, off, src) })
}

// UploadRows implements gpu.Queue.
func (q *queue) UploadRows(dst gpu.Matrix, src []byte, rows []int32) {
	q.do("UploadRows", func() { q.inner.UploadRows(dst, src, rows) }, dst)
}

// Download implements gpu.Queue.
func (q *queue) Download(dst []byte, src gpu.Buffer, off gpu.Bytes) {
	q.do("Download", func() { q.inner.Download(dst, src, off) })
}

// CanCopyFrom implements gpu.PeerCopier.
func (q *peerQueue) CanCopyFrom(src gpu.Device) bool {
	for d, ok := src.(*Device); ok; d, ok = src.(*Device) { // it may be wrapped more than once
		src = d.inner
	}
	return q.peer.CanCopyFrom(src)
}

// CopyFrom implements gpu.PeerCopier.
func (q *peerQueue) CopyFrom(dst, src gpu.Matrix) {
	q.do("CopyFrom", func() { q.peer.CopyFrom(dst, src) }, dst)
}
