package pipeline

import (
	"encoding/binary"
	"math"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
)

// optimizerState is the update rule's memory, on the device of part 0.
type optimizerState struct {
	kind       gnn.Optimizer
	m, v, vmax gpu.Vec
	stage      gpu.Matrix // gradients of one other part
	steps      int
}

// row views a vector as a matrix of one row.
func row(v gpu.Vec) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: v.Len, LD: v.Len}
}

// allocOptimizer makes the update rule's memory, zeroed.
func (w *worker) allocOptimizer(o gnn.Optimizer, n int) {
	w.opt = optimizerState{kind: o}
	vec := func(name string) gpu.Vec {
		v := gpu.Vec{Buf: w.ld.alloc(4*gpu.Bytes(n), name), Len: n}
		if w.ld.err == nil {
			w.compute.Fill(row(v), 0)
		}
		return v
	}
	if o.Kind != gnn.SGD {
		w.opt.m, w.opt.v = vec("first moments"), vec("second moments")
		if o.AMSGrad {
			w.opt.vmax = vec("largest second moments")
		}
	}
	if len(w.workers) > 1 {
		w.opt.stage = row(vec("gradients of another part"))
	}
}

// update adds up the gradients of all parts at part 0, takes one optimiser step there, and copies the new weights to all
// parts. All queues must have run their backward pass.
func update(workers []*worker) {
	reduce(workers)
	w0 := workers[0]
	w0.opt.steps++
	step(w0.compute, &w0.opt, w0.params.Flat, w0.grads.Flat)
	updated := w0.compute.Record()
	for _, w := range workers[1:] {
		w.compute.Wait(updated)
		transfer(w, row(w.params.Flat), w0, row(w0.params.Flat))
	}
}

// reduce adds the gradients of all parts to part 0's, in part order.
func reduce(workers []*worker) {
	w0 := workers[0]
	for _, w := range workers[1:] {
		transfer(w0, w0.opt.stage, w, row(w.grads.Flat))
		w0.compute.Axpby(row(w0.grads.Flat), 1, w0.opt.stage, 1)
	}
}

// step takes one optimiser step.
func step(q gpu.Queue, o *optimizerState, params, grads gpu.Vec) {
	k := o.kind
	if k.Kind == gnn.SGD {
		q.SGD(params, grads, float32(k.LR), float32(k.WeightDecay))
		return
	}
	q.Adam(gpu.AdamArgs{Param: params, Grad: grads, M: o.m, V: o.v, VMax: o.vmax, LR: k.LR, Beta1: 0.9, Beta2: 0.999,
		Eps: 1e-8, WeightDecay: k.WeightDecay, Decoupled: k.Kind == gnn.AdamW, Step: o.steps})
}

// transfer copies a contiguous matrix from one worker's device to another's on the reader's compute queue, through the
// staging memory of the pair where they do not reach each other; no exchange may be under way.
func transfer(to *worker, dst gpu.Matrix, from *worker, src gpu.Matrix) {
	if to.reach[from.index] {
		copyRows(to.compute, dst, src, to.peers[from.index])
		return
	}
	host := from.staging(to.index, 4*src.Rows*src.Cols)
	from.compute.Download(host, src.Buf, 4*gpu.Bytes(src.Off))
	to.compute.Wait(from.compute.Record())
	to.compute.Upload(dst.Buf, 4*gpu.Bytes(dst.Off), host)
}

// download returns a device vector; the queue is synchronised.
func (w *worker) download(v gpu.Vec) ([]float32, error) {
	if v.Len == 0 {
		return nil, nil
	}
	host := make([]float32, v.Len)
	w.compute.Download(hostmem.Bytes(host), v.Buf, 4*gpu.Bytes(v.Off))
	return host, w.compute.Sync()
}

// uploadTo writes host values to a device vector; the queue is synchronised.
func (w *worker) uploadTo(v gpu.Vec, host []float32) error {
	if v.Len == 0 {
		return nil
	}
	w.compute.Upload(v.Buf, 4*gpu.Bytes(v.Off), hostmem.Bytes(host))
	return w.compute.Sync()
}

// lossValue returns the loss that the last epoch downloaded.
func (w *worker) lossValue() float64 {
	return math.Float64frombits(binary.NativeEndian.Uint64(w.lossHost))
}
