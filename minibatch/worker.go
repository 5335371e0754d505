package minibatch

import (
	"capgnn/gpu"
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

	counts Counts
	linked gpu.Bytes // what the units' rows and ids have taken of links that the host emulates
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

// close gives memory up; what is page-locked for gradients and weights only with all.
func (w *worker) close(all bool) {
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
	w.Release(all)
}
