package pipeline

import (
	"errors"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/faulty"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/internal/named"
)

// A part whose queue was lost may be stopped by another one, which misses its rows, before it looks at its queues: the run's error is that of the
// lost device all the same.
func TestLostQueueBeforeItsEcho(t *testing.T) {
	p, m := task{share: 0.2}.make(t, named.GCN)
	devices := cpus(t, 2)
	devices[1] = faulty.Wrap(devices[1], faulty.Faults{Lost: faulty.Point{Queue: "out", At: 1}})
	tr := newTrainer(t, p, m, devices, scatterParts(p.Vertices(), 2), nil)
	missed := &hostmem.VersionFault{Block: "class 1 of part 1", Want: 4}
	err := tr.each(func(w *worker) error {
		if w.Index == 0 {
			return missed
		}
		<-tr.Hub.Context().Done()
		w.ep.Out.Download(make([]byte, 4), w.Params.Flat.Buf, 0)
		_ = w.ep.Out.Sync()
		return &meet.Echo{Err: missed}
	})
	if !errors.Is(err, gpu.ErrDeviceLost) {
		t.Errorf("%v, want the lost device", err)
	}
}
