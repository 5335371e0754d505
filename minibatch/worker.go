package minibatch

import (
	"errors"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/minibatch/sample"
	"capgnn/reduce"
)

// worker is one part on its device.
type worker struct {
	index int
	dev   gpu.Device
	waits meet.Waits
	stage stage
	feed  *feed
	// samplers are the feed's, while it runs.
	samplers []*sample.Sampler
	fetcher  *fetcher // nil: rows of other parts are read as own ones

	compute  gpu.Queue         // of the model
	prefetch gpu.Queue         // brings steps to the inputs
	rows     gpu.ResidentQueue // brings rows of other parts; nil: they come otherwise
	queues   reduce.Queues
	owner    *reduce.Owner
	reach    []bool    // by part: the device can copy from its device, or is it
	migrator *migrator // nil: no gradients are carried
	turn     int       // units that were enqueued

	params, grads *gnn.Params
	ws            *gnn.Workspace
	pass          *gnn.Pass
	inputs        []input // one is filled while another is computed from, where there are two
	loss          learn.Loss
	sums          gpu.Array[float64] // losses of the steps of a stretch
	lossHost      []byte             // the same

	pinned []*hostmem.Pinned
	bufs   []gpu.Buffer
	failed error // of alloc
	counts Counts
	linked gpu.Bytes // what the units' rows and ids have taken of links that the host emulates
}

// alloc returns memory of the worker's device, nil after an error.
func (w *worker) alloc(size gpu.Bytes, name string) gpu.Buffer {
	if w.failed != nil {
		return nil
	}
	b, err := w.dev.Alloc(size, name)
	if err != nil {
		w.failed = err
		return nil
	}
	w.bufs = append(w.bufs, b)
	return b
}

// take allocates the room of steps, inputs and activations, if the worker has not got it.
func (w *worker) take() (err error) {
	if w.inputs[0].buf != nil {
		return nil
	}
	for i := range w.inputs {
		if n := &w.inputs[i]; err == nil {
			n.buf, err = w.dev.Alloc(n.size, "input")
		}
	}
	if err == nil {
		err = w.ws.Alloc(w.dev)
	}
	return err
}

// give frees the room of steps. The device is done with them.
func (w *worker) give() {
	if w.ws != nil {
		w.ws.Free()
	}
	for i := range w.inputs {
		if n := &w.inputs[i]; n.buf != nil {
			n.buf.Free()
			n.buf = nil
		}
	}
}

// locking returns what replaces memory by page-locked memory of its size, where there is a driver that gives it: a GPU's queue is parked while it copies to other memory.
func (w *worker) locking(o hostmem.LockOptions) func(mem []byte) []byte {
	return func(mem []byte) []byte {
		if len(mem) == 0 || o.Pinner == nil {
			return mem
		}
		p, err := hostmem.NewPinned(w.waits.Device, "loss, gradients and weights", int64(len(mem)), o)
		if err != nil {
			return mem
		}
		w.pinned = append(w.pinned, p)
		return p.Bytes()
	}
}

// upload enqueues the way of numbers to the device.
func (w *worker) upload(to gpu.Vec, from []float32) {
	w.compute.Upload(to.Buf, 4*gpu.Bytes(to.Off), hostmem.Bytes(from))
}

// download returns a vector of the device.
func (w *worker) download(v gpu.Vec) ([]float32, error) {
	host := make([]float32, v.Len)
	w.compute.Download(hostmem.Bytes(host), v.Buf, 4*gpu.Bytes(v.Off))
	return host, w.waits.Settle(w.compute)
}

// all returns the queues of the worker.
func (w *worker) all() []gpu.Queue {
	all := append([]gpu.Queue{w.compute, w.prefetch}, w.queues.All()...)
	if w.migrator != nil {
		all = append(all, w.migrator.queue)
	}
	if w.rows != nil {
		all = append(all, w.rows)
	}
	return append(all, w.loss.Queues()...)
}

// sync waits for all of them.
func (w *worker) sync() error { return w.waits.Settle(w.all()...) }

// usage is what the worker's queues have done. Waiting is that of the compute queue.
func (w *worker) usage() gpu.Usage {
	u := w.compute.Usage()
	waited := u.Time[gpu.PhaseWait]
	for _, q := range w.all()[1:] {
		u = u.Add(q.Usage())
	}
	u.Time[gpu.PhaseWait] = waited
	return u
}

// reduction is what the queues of gradients and weights have done.
func (w *worker) reduction() (u gpu.Usage) {
	for _, q := range w.queues.All() {
		u = u.Add(q.Usage())
	}
	return u
}

// carried is what the queue of carried gradients has done.
func (w *worker) carried() (u gpu.Usage) {
	if w.migrator != nil {
		u = w.migrator.queue.Usage()
	}
	return u
}

// cause returns the fault of one of the worker's queues in place of an error that says that another part has ended the run.
func (w *worker) cause(err error) error {
	if echo := new(meet.Echo); !errors.As(err, &echo) {
		return err
	}
	for _, q := range w.all() {
		if fault := q.Fault(); fault != nil {
			return fault
		}
	}
	return err
}

// close waits for the queues and gives memory up, and reports whether the device answers. What a device that does not answer may still write to is not given up, and what is
// page-locked for gradients and weights only with all.
func (w *worker) close(all bool) bool {
	if echo := new(meet.Echo); errors.As(w.sync(), &echo) {
		return false
	}
	if w.feed != nil {
		for _, s := range w.feed.slots {
			for u := range s.units {
				s.units[u].close()
			}
		}
	}
	if w.fetcher != nil {
		w.fetcher.close()
	}
	w.give()
	for _, b := range w.bufs {
		b.Free()
	}
	for _, p := range w.pinned {
		if all {
			p.Close()
		}
	}
	return true
}
