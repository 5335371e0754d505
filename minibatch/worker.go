package minibatch

import (
	"errors"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/minibatch/sample"
)

// worker is one part on its device.
type worker struct {
	trainer.Worker
	stage stage
	feed  *feed
	// samplers are the feed's, while it runs.
	samplers []*sample.Sampler
	fetcher  *fetcher // nil: rows of other parts are read as own ones

	prefetch gpu.Queue         // brings steps to the inputs
	rows     gpu.ResidentQueue // brings rows of other parts; nil: they come otherwise
	reach    []bool            // by part: the device can copy from its device, or is it
	migrator *migrator         // nil: no gradients are carried
	turn     int               // units that were enqueued

	inputs []input // one is filled while another is computed from, where there are two

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
	b, err := w.Device.Alloc(size, name)
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
			n.buf, err = w.Device.Alloc(n.size, "input")
		}
	}
	if err == nil {
		err = w.Workspace.Alloc(w.Device)
	}
	return err
}

// give frees the room of steps. The device is done with them.
func (w *worker) give() {
	if w.Workspace != nil {
		w.Workspace.Free()
	}
	for i := range w.inputs {
		if n := &w.inputs[i]; n.buf != nil {
			n.buf.Free()
			n.buf = nil
		}
	}
}

// upload enqueues the way of numbers to the device.
func (w *worker) upload(to gpu.Vec, from []float32) {
	w.Compute.Upload(to.Buf, 4*gpu.Bytes(to.Off), hostmem.Bytes(from))
}

// close waits for the queues and gives memory up, and reports whether the device answers. What a device that does not
// answer may still write to is not given up, and what is page-locked for gradients and weights only with all.
func (w *worker) close(all bool) bool {
	if echo := new(meet.Echo); errors.As(w.Sync(), &echo) {
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
	for _, p := range w.Pinned {
		if all {
			p.Close()
		}
	}
	return true
}
