package trainer

import (
	"encoding/binary"
	"math"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/learn"
)

// Supervision is what a worker makes losses with.
type Supervision struct {
	Pass     *gnn.Pass // of training
	Loss     learn.Loss
	Sums     gpu.Array[float64] // losses of the units of a stretch
	LossHost []byte             // the same
}

// NewLoss puts the loss of so many rows on the worker's device, and room for the sums of so many units.
func (w *Worker) NewLoss(t learn.Task, alloc func(gpu.Bytes, string) gpu.Buffer, rows, units int) {
	w.Sums = gpu.Array[float64]{Buf: alloc(8*gpu.Bytes(units), "loss"), Len: units}
	w.Loss = t.On(alloc, w.Compute, func() gpu.Queue { return w.Queue("loss") }, rows)
	w.LossHost = make([]byte, 8*units)
}

// Unit is what a part computes between two sums of gradients.
type Unit struct {
	Clock   int                // dropout draws by it
	At      int                // its place among the units of a stretch
	Halo    gnn.Halo           // rows that layers read of other parts; nil: none
	Targets []gpu.Array[uint8] // what the first rows of the logits are compared with
	Scale   float64            // of the loss: 1 over what all terms of the step weigh
	Weight  gpu.Vec            // of each row's gradient; empty: 1
	LossNow bool               // the loss goes to the host behind the unit, not behind the stretch
}

// Gradient enqueues the gradients of a unit behind Clear: forward pass, loss, and backward pass. done is
// gnn.Pass.Backward's.
func (w *Worker) Gradient(u Unit, done func(layer int)) {
	q, host := w.Compute, w.LossHost[8*u.At:][:8]
	x := learn.Compared{Targets: u.Targets, Scale: u.Scale, Sum: w.Sums.Slice(u.At, u.At+1), Host: host}
	x.Logits, x.Grad = w.Pass.Forward(q, u.Halo, u.Clock), w.Pass.LossGrad()
	w.Loss.Enqueue(q, x)
	if u.Weight.Len > 0 {
		q.ScaleRows(x.Grad, x.Grad, u.Weight)
	}
	if u.LossNow {
		w.Loss.Fetch(q, host, x.Sum)
	}
	w.Pass.Backward(q, u.Halo, u.Clock, done)
	if u.LossNow {
		w.Loss.Await(q)
	}
}

// Idle is Gradient of a unit without a target, which has none: done is called for the layers in the same order.
func Idle(layers int, done func(layer int)) {
	for layer := layers - 1; layer >= 0; layer-- {
		done(layer)
	}
}

// Clear enqueues that gradients become 0.
func (w *Worker) Clear() { w.Compute.Fill(Row(w.Grads.Flat), 0) }

// Row views a vector as a matrix of one row.
func Row(v gpu.Vec) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: v.Len, LD: v.Len}
}

// Losses returns those of the first units of a stretch.
func (w *Worker) Losses(units int) (all []learn.Number) {
	for k := range units {
		all = append(all, learn.Number(math.Float64frombits(binary.NativeEndian.Uint64(w.LossHost[8*k:]))))
	}
	return all
}
