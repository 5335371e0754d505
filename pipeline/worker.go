package pipeline

import (
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/trainer"
	"capgnn/pipeline/halo"
)

// epochHalo is a halo that is told where epochs begin and end.
type epochHalo interface {
	gnn.Halo
	BeginEpoch(q gpu.Queue) // before the first exchange
	EndEpoch(q gpu.Queue)   // when the epoch has been enqueued
	Lags() bool             // rows are used in the epoch after the one that makes them
}

// worker is one part of the graph on one device.
type worker struct {
	*loader
	part *graph.Part
	ep   halo.Endpoint // what exchanges see of it

	eval      *gnn.Pass        // evaluates; Pass trains
	layers    []gnn.LayerGraph // of training: what it aggregates over
	logits    gpu.Matrix       // of the last evaluation: inner vertices × classes; the next epoch writes over them
	trainHalo epochHalo        // nil with one part
	evalHalo  gnn.Halo         // the same
	hold      *holding         // of an isolated part; nil: it is none
	turns     *turns           // of a part that is streamed; nil: it is none

	compared   []gpu.Array[uint8] // targets
	weight     gpu.Vec            // of the gradient of each row of the loss; empty: all 1
	backward   gpu.Event          // the backward pass of the epoch under way is done
	backwardAt time.Duration      // when that was on the host's clock
}

// runTrain enqueues one training epoch up to the gradients. done is gnn.Pass.Backward's.
func (w *worker) runTrain(epoch int, scale float64, done func(layer int)) {
	w.Clear()
	u := trainer.Unit{Clock: epoch, Targets: w.compared, Scale: scale, Weight: w.weight, LossNow: true}
	if w.trainHalo == nil {
		w.Gradient(u, done)
		return
	}
	w.trainHalo.BeginEpoch(w.Compute)
	u.Halo = w.trainHalo
	w.Gradient(u, done)
	w.trainHalo.EndEpoch(w.Compute)
}

// passes returns those of a part, which may be nil.
func (t *Trainer) passes(part int) []*gnn.Pass {
	w := t.workers[part-t.o.First]
	return []*gnn.Pass{w.Pass, w.eval}
}

// finish waits until the epoch has been computed. With the pipeline rows may be under way to the next one still.
func (w *worker) finish() error {
	if w.trainHalo == nil || !w.trainHalo.Lags() {
		return w.Sync()
	}
	err := w.Waits.Settle(w.Compute)
	for _, q := range w.Queues()[1:] {
		if err == nil {
			err = q.Fault()
		}
	}
	return err
}

// lossValue returns the loss that the last epoch downloaded.
func (w *worker) lossValue() float64 { return float64(w.Losses(1)[0]) }
