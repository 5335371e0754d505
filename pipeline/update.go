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
	stage      gpu.Vec // gradients of one layer of another part
	steps      int
}

// row views a vector as a matrix of one row.
func row(v gpu.Vec) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: v.Len, LD: v.Len}
}

// allocOptimizer makes the update rule's memory for n parameters, zeroed, and the stage.
func (w *worker) allocOptimizer(o gnn.Optimizer, n, stage int) {
	w.opt = optimizerState{kind: o}
	vec := func(name string, n int) gpu.Vec {
		v := gpu.Vec{Buf: w.ld.alloc(4*gpu.Bytes(n), name), Len: n}
		if w.ld.err == nil {
			w.compute.Fill(row(v), 0)
		}
		return v
	}
	if o.Kind != gnn.SGD {
		w.opt.m, w.opt.v = vec("first moments", n), vec("second moments", n)
		if o.AMSGrad {
			w.opt.vmax = vec("largest second moments", n)
		}
	}
	if len(w.workers) > 1 {
		w.opt.stage = vec("gradients of another part", stage)
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

// download returns a device vector; the queue is synchronised.
func (w *worker) download(v gpu.Vec) ([]float32, error) {
	if v.Len == 0 {
		return nil, nil
	}
	host := make([]float32, v.Len)
	w.compute.Download(hostmem.Bytes(host), v.Buf, 4*gpu.Bytes(v.Off))
	return host, w.compute.Sync()
}

// lossValue returns the loss that the last epoch downloaded.
func (w *worker) lossValue() float64 {
	return math.Float64frombits(binary.NativeEndian.Uint64(w.lossHost))
}
