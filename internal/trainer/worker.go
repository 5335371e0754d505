package trainer

import (
	"errors"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/reduce"
)

// Worker is one part of a run on its device.
type Worker struct {
	Index         int // of the part, among those of all processes
	Device        gpu.Device
	Waits         meet.Waits
	Compute       gpu.Queue     // of the model
	Reduce        reduce.Queues // of gradients and weights
	Owner         *reduce.Owner // nil: another part of this device comes before it
	Params, Grads *gnn.Params
	Workspace     *gnn.Workspace
	Supervision
	At     int    // its place among those of this process
	Failed error  // of the first Alloc or Pin that did: later ones do nothing
	Next   func() // is called at meetings, where the part has offered; nil: nothing is

	others []gpu.Queue // that it has besides
	bufs   []gpu.Buffer
	pinned []*hostmem.Pinned
}

// NewWorker returns a part's worker, with a queue to compute on.
func NewWorker(hub *meet.Hub, part int, dev gpu.Device) Worker {
	return Worker{Index: part, Device: dev, Waits: meet.Waits{Hub: hub, Part: part, Device: dev.Info().Name},
		Compute: dev.NewQueue("compute")}
}

// Queue makes a queue that the worker has besides.
func (w *Worker) Queue(name string) gpu.Queue { return w.Has(w.Device.NewQueue(name)) }

// Has makes a queue one of the worker's.
func (w *Worker) Has(q gpu.Queue) gpu.Queue {
	w.others = append(w.others, q)
	return q
}

// Queues are all of the worker, the one that computes first.
func (w *Worker) Queues() []gpu.Queue {
	return slices.Concat([]gpu.Queue{w.Compute}, w.others, w.Reduce.All())
}

// Sync waits for all queues of the worker.
func (w *Worker) Sync() error { return w.Waits.Settle(w.Queues()...) }

// Cause returns the fault of one of the worker's queues in place of an error that says that another part has ended the
// run: that part may have failed for what this queue did not do.
func (w *Worker) Cause(err error) error {
	if echo := new(meet.Echo); !errors.As(err, &echo) {
		return err
	}
	for _, q := range w.Queues() {
		if fault := q.Fault(); fault != nil {
			return fault
		}
	}
	return err
}

// Usage sums up what the worker's queues have done. Waiting is that of the compute queue alone: what it costs the
// epoch; the others wait most of the time.
func (w *Worker) Usage() gpu.Usage { return total(w.usages()) }

// Reduction is what the queues of gradients and weights have done.
func (w *Worker) Reduction() (u gpu.Usage) {
	for _, q := range w.Reduce.All() {
		u = u.Add(q.Usage())
	}
	return u
}

// Download returns a vector of the device; the queue is synchronised.
func (w *Worker) Download(v gpu.Vec) ([]float32, error) {
	if v.Len == 0 {
		return nil, nil
	}
	host := make([]float32, v.Len)
	w.Compute.Download(hostmem.Bytes(host), v.Buf, 4*gpu.Bytes(v.Off))
	return host, w.Waits.Settle(w.Compute)
}

// Locking returns what replaces memory that steps copy the loss, gradients and weights through by page-locked memory of
// its size, where there is a driver that gives it: a GPU's queue is parked while it copies to other memory.
func (w *Worker) Locking(o hostmem.LockOptions) func(mem []byte) []byte {
	return func(mem []byte) []byte {
		if len(mem) == 0 || o.Pinner == nil {
			return mem
		}
		p, err := w.pin("loss, gradients and weights", int64(len(mem)), o)
		if err != nil {
			return mem
		}
		return p
	}
}

// Alloc returns memory of the device until Release.
func (w *Worker) Alloc(size gpu.Bytes, name string) gpu.Buffer {
	if w.Failed != nil {
		return nil
	}
	b, err := w.Device.Alloc(size, name)
	if w.Failed = err; err != nil {
		return nil
	}
	w.bufs = append(w.bufs, b)
	return b
}

// Free gives memory up before Release.
func (w *Worker) Free(b gpu.Buffer) {
	w.bufs = slices.DeleteFunc(w.bufs, func(x gpu.Buffer) bool { return x == b })
	b.Free()
}

// Pin returns host memory that the device copies from and to until Release.
func (w *Worker) Pin(name string, size gpu.Bytes, o hostmem.LockOptions) (mem []byte) {
	if size > 0 && w.Failed == nil {
		mem, w.Failed = w.pin(name, int64(size), o)
	}
	return mem
}

func (w *Worker) pin(name string, size int64, o hostmem.LockOptions) ([]byte, error) {
	p, err := hostmem.NewPinned(w.Waits.Device, name, size, o)
	if err != nil {
		return nil, err
	}
	w.pinned = append(w.pinned, p)
	return p.Bytes(), nil
}

// Unpin gives up, before Release, what Pin has returned.
func (w *Worker) Unpin(mem []byte) {
	w.pinned = slices.DeleteFunc(w.pinned, func(p *hostmem.Pinned) bool {
		b := p.Bytes()
		is := len(b) > 0 && len(mem) > 0 && &b[0] == &mem[0]
		if is {
			p.Close()
		}
		return is
	})
}

// Release gives memory up; what the host has pinned only with all.
func (w *Worker) Release(all bool) {
	if w.Workspace != nil {
		w.Workspace.Free()
	}
	for _, b := range w.bufs {
		b.Free()
	}
	for _, p := range w.pinned {
		if all {
			p.Close()
		}
	}
}
