package pipeline

import (
	"encoding/binary"
	"math"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
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
	trainer.Worker
	network
	supervision
	backwardPass
	part *graph.Part
	ld   *loader
	ep   halo.Endpoint // what exchanges see of it

	trainHalo epochHalo // nil with one part
	evalHalo  gnn.Halo  // the same
	hold      *holding  // of an isolated part; nil: it is none
}

// network is the model on a worker's device.
type network struct {
	train, eval *gnn.Pass
	layers      []gnn.LayerGraph // what train aggregates over
	logits      gpu.Matrix       // of the last evaluation: inner vertices × classes; the next epoch writes over them
}

// supervision is what a worker compares its outputs with, and the loss.
type supervision struct {
	compared []gpu.Array[uint8] // targets
	loss     learn.Loss
	sum      gpu.Array[float64]
	lossHost []byte
	weight   gpu.Vec // of the gradient of each row of the loss; empty: all 1
}

// backwardPass is that of the epoch under way.
type backwardPass struct {
	backward   gpu.Event     // it is done
	backwardAt time.Duration // when that was on the host's clock
}

// runTrain enqueues one training epoch up to the gradients. done is gnn.Pass.Backward's.
func (w *worker) runTrain(epoch int, scale float64, done func(layer int)) {
	q := w.Compute
	q.Fill(gpu.Matrix{Buf: w.Grads.Flat.Buf, Rows: 1, Cols: w.Grads.Flat.Len, LD: w.Grads.Flat.Len}, 0)
	if w.trainHalo != nil {
		w.trainHalo.BeginEpoch(q)
	}
	logits := w.train.Forward(q, w.trainHalo, epoch)
	grad := w.train.LossGrad()
	w.loss.Enqueue(q, learn.Compared{Logits: logits, Grad: grad, Targets: w.compared, Scale: scale,
		Sum: w.sum, Host: w.lossHost})
	if w.weight.Len > 0 {
		q.ScaleRows(grad, grad, w.weight)
	}
	w.loss.Fetch(q, w.lossHost, w.sum)
	w.train.Backward(q, w.trainHalo, epoch, done)
	w.loss.Await(q)
	if w.trainHalo != nil {
		w.trainHalo.EndEpoch(q)
	}
}

// runIdle stands for an epoch without a part: no gradients, and no loss.
func (w *worker) runIdle(layers int, done func(layer int)) {
	w.Compute.Fill(gpu.Matrix{Buf: w.Grads.Flat.Buf, Rows: 1, Cols: w.Grads.Flat.Len, LD: w.Grads.Flat.Len}, 0)
	clear(w.lossHost)
	for layer := layers - 1; layer >= 0; layer-- {
		done(layer)
	}
}

// newLoss puts the loss of so many rows on the device.
func (w *worker) newLoss(t learn.Task, rows int) {
	w.loss = t.On(w.ld.alloc, w.Compute, func() gpu.Queue { return w.Queue("loss") }, rows)
	w.sum = gpu.Array[float64]{Buf: w.ld.alloc(8, "loss"), Len: 1}
	w.lossHost = make([]byte, 8)
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
func (w *worker) lossValue() float64 {
	return math.Float64frombits(binary.NativeEndian.Uint64(w.lossHost))
}
