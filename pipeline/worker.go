package pipeline

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/pipeline/halo"
	"capgnn/reduce"
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
	index int // of the part, among those of all processes
	network
	supervision
	backwardPass
	dev   gpu.Device
	part  *graph.Part
	ld    *loader
	waits meet.Waits
	ep    halo.Endpoint // what exchanges see of it

	compute   gpu.Queue     // everything but copies between devices
	reduce    reduce.Queues // of gradients and weights
	owner     *reduce.Owner // nil: another part of this device comes before it
	trainHalo epochHalo     // nil with one part
	evalHalo  gnn.Halo      // the same
	pinned    []*hostmem.Pinned
	hold      *holding // of an isolated part; nil: it is none
}

// network is the model on a worker's device.
type network struct {
	params, grads *gnn.Params
	ws            *gnn.Workspace
	train, eval   *gnn.Pass
	layers        []gnn.LayerGraph // what train aggregates over
	logits        gpu.Matrix       // of the last evaluation: inner vertices × classes; the next epoch writes over them
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
	q := w.compute
	q.Fill(gpu.Matrix{Buf: w.grads.Flat.Buf, Rows: 1, Cols: w.grads.Flat.Len, LD: w.grads.Flat.Len}, 0)
	if w.trainHalo != nil {
		w.trainHalo.BeginEpoch(q)
	}
	logits := w.train.Forward(q, w.trainHalo, epoch)
	grad := w.train.LossGrad()
	w.loss.Enqueue(q, learn.Compared{Logits: logits, Grad: grad, Targets: w.compared, Scale: scale, Sum: w.sum, Host: w.lossHost})
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
	w.compute.Fill(gpu.Matrix{Buf: w.grads.Flat.Buf, Rows: 1, Cols: w.grads.Flat.Len, LD: w.grads.Flat.Len}, 0)
	clear(w.lossHost)
	for layer := layers - 1; layer >= 0; layer-- {
		done(layer)
	}
}

// queues are all of the worker.
func (w *worker) queues() []gpu.Queue {
	return slices.Concat([]gpu.Queue{w.compute}, w.ep.Queues(), w.reduce.All(), w.loss.Queues())
}

// newLoss puts the loss of so many rows on the device.
func (w *worker) newLoss(t learn.Task, rows int) {
	w.loss = t.On(w.ld.alloc, w.compute, func() gpu.Queue { return w.dev.NewQueue("loss") }, rows)
	w.sum = gpu.Array[float64]{Buf: w.ld.alloc(8, "loss"), Len: 1}
	w.lossHost = make([]byte, 8)
}

// sync waits for all queues of the worker.
func (w *worker) sync() error { return w.waits.Settle(w.queues()...) }

// cause returns the fault of one of the worker's queues in place of an error that says that another part has ended the run: that part may have
// failed for what this queue did not do.
func (w *worker) cause(err error) error {
	if echo := new(meet.Echo); !errors.As(err, &echo) {
		return err
	}
	for _, q := range w.queues() {
		if fault := q.Fault(); fault != nil {
			return fault
		}
	}
	return err
}

// finish waits until the epoch has been computed. With the pipeline rows may be under way to the next one still.
func (w *worker) finish() error {
	if w.trainHalo == nil || !w.trainHalo.Lags() {
		return w.sync()
	}
	err := w.waits.Settle(w.compute)
	for _, q := range w.queues()[1:] {
		if err == nil {
			err = q.Fault()
		}
	}
	return err
}

// usage sums up what the worker's queues have done. Waiting is that of the compute queue alone: what it costs the epoch; the
// others wait most of the time.
func (w *worker) usage() gpu.Usage {
	u := w.compute.Usage()
	waited := u.Time[gpu.PhaseWait]
	for _, q := range w.queues()[1:] {
		u = u.Add(q.Usage())
	}
	u.Time[gpu.PhaseWait] = waited
	return u
}

// reduction is what the queues of gradients and weights have done.
func (w *worker) reduction() (u gpu.Usage) {
	for _, q := range w.reduce.All() {
		u = u.Add(q.Usage())
	}
	return u
}

// download returns a device vector; the queue is synchronised.
func (w *worker) download(v gpu.Vec) ([]float32, error) {
	if v.Len == 0 {
		return nil, nil
	}
	host := make([]float32, v.Len)
	w.compute.Download(hostmem.Bytes(host), v.Buf, 4*gpu.Bytes(v.Off))
	return host, w.waits.Settle(w.compute)
}

// lossValue returns the loss that the last epoch downloaded.
func (w *worker) lossValue() float64 {
	return math.Float64frombits(binary.NativeEndian.Uint64(w.lossHost))
}
