package learn

import (
	"encoding/binary"
	"math"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// weighing computes the loss of Labels with weights or smoothing on a device and its gradient, by operations that there
// are: with g = softmax(z) − onehot(y), which SoftmaxLoss gives,
//
//	∂l/∂z[j] = r[y]·(g[j] + t[y][j]),  r[y] = (1 − s)·w[y] + s/C·Σ_c w[c],  t[y][j] = s/C·(Σ_c w[c]·[j = y] − w[j]) / r[y]
//
// A product with a matrix of one entry per row adds the rows of t, a gather takes r. The loss itself needs logarithms,
// which no operation gives by row: the logits go to the host, where Labels.sum makes it beside the backward pass. A
// class of its own, the last one, stands for rows that do not count.
type weighing struct {
	l             Labels
	classes, rows int
	factor, now   gpu.Matrix // classes + 1 × 1: r, and what it is times the scale
	shift         gpu.Matrix // classes + 1 × classes: t; empty without smoothing
	weight        gpu.Matrix // rows × 1
	ends          gpu.Array[int64]
	host          struct { // what was uploaded, which stays as it is
		factor, shift []float32
		ends          []int64
	}
	logits []float32
	labels []int32
	beside gpu.Queue // on which the host makes losses
	made   gpu.Event // the newest one; nil: there is none
}

// on is Task.On of a loss that weighs something; nil: it is plain, or has no memory.
func (l Labels) on(
	alloc func(gpu.Bytes, string) gpu.Buffer, q gpu.Queue, beside func() gpu.Queue, classes, rows int,
) *weighing {
	if l.plain() || rows == 0 {
		return nil
	}
	w := &weighing{l: l, classes: classes, rows: rows}
	column := func(name string, n int) gpu.Matrix {
		return gpu.Matrix{Buf: alloc(4*gpu.Bytes(n), name), Rows: n, Cols: 1, LD: 1}
	}
	w.factor, w.now = column("class weights", classes+1), column("class weights of a step", classes+1)
	w.weight = column("weights of losses", rows)
	w.tables()
	if l.Smoothing > 0 {
		w.shift = gpu.Matrix{Rows: classes + 1, Cols: classes, LD: classes}
		w.shift.Buf = alloc(4*gpu.Bytes((classes+1)*classes), "smoothed labels")
		w.ends = gpu.Array[int64]{Buf: alloc(8*gpu.Bytes(rows+1), "rows of smoothed labels"), Len: rows + 1}
	}
	for _, m := range []gpu.Buffer{w.factor.Buf, w.now.Buf, w.weight.Buf} {
		if m == nil {
			return nil
		}
	}
	w.beside = beside()
	q.Upload(w.factor.Buf, 0, hostmem.Bytes(w.host.factor))
	if l.Smoothing > 0 {
		if w.shift.Buf == nil || w.ends.Buf == nil {
			return nil
		}
		q.Upload(w.shift.Buf, 0, hostmem.Bytes(w.host.shift))
		q.Upload(w.ends.Buf, 0, hostmem.Bytes(w.host.ends))
	}
	return w
}

// tables makes r, t and the row ends.
func (w *weighing) tables() {
	spread, all := w.l.spread(w.classes)
	w.host.factor, w.host.shift = make([]float32, w.classes+1), make([]float32, (w.classes+1)*w.classes)
	w.host.ends = make([]int64, w.rows+1)
	for i := range w.host.ends {
		w.host.ends[i] = int64(i)
	}
	for y := range w.classes {
		r := (1-w.l.Smoothing)*w.l.weight(int32(y)) + all
		w.host.factor[y] = float32(r)
		for j, s := range spread {
			t := -s
			if j == y {
				t += all
			}
			if r > 0 {
				w.host.shift[y*w.classes+j] = float32(t / r)
			}
		}
	}
}

// Loss enqueues what SoftmaxLoss does, with Scale for 1/Σ w[y]: the gradient goes to a.Grad, and the loss times Scale
// to into, 8 bytes of host memory, by the time that Await has delayed a queue to. kinds are labels with the last class
// in place of −1. The logits are overwritten; a.Grad may be them, or BF16; a.Loss is overwritten.
func (w *weighing) Loss(q gpu.Queue, a gpu.LossArgs, kinds gpu.Ints, into []byte) {
	z, n := a.Logits, a.Logits.Rows
	w.fetch(q, a, into)
	one := a
	one.Grad, one.Scale = z, 1
	q.SoftmaxLoss(one)
	if n == 0 {
		return
	}
	if w.shift.Buf != nil {
		pick := gpu.CSR{Rows: n, Cols: w.classes + 1, Begin: w.ends.Slice(0, n), End: w.ends.Slice(1, n+1)}
		pick.Indices, pick.Entries = kinds, int64(n)
		q.SpMM(z, pick, w.shift, 1)
	}
	q.Axpby(w.now, float32(a.Scale), w.factor, 0)
	weight := w.weight.RowRange(0, n)
	q.Gather(weight, w.now, kinds)
	q.ScaleRows(z, z, gpu.Vec{Buf: weight.Buf, Len: n})
	if a.Grad.Type != z.Type || a.Grad.Buf != z.Buf || a.Grad.Off != z.Off {
		q.Copy(a.Grad, z)
	}
}

// fetch has the host make the loss of the logits.
func (w *weighing) fetch(q gpu.Queue, a gpu.LossArgs, into []byte) {
	z, n := a.Logits, a.Logits.Rows
	if w.logits == nil {
		w.logits, w.labels = make([]float32, w.rows*z.LD), make([]int32, w.rows)
	}
	w.Await(q) // the loss before reads what is written now
	if n > 0 {
		q.Download(hostmem.Bytes(w.logits[:z.Span()]), z.Buf, 4*gpu.Bytes(z.Off))
		q.Download(hostmem.Bytes(w.labels[:n]), a.Labels.Buf, 4*gpu.Bytes(a.Labels.Off))
	}
	w.beside.Wait(q.Record())
	w.beside.Call("loss", func() error {
		sum := w.l.sum(gpu.Compact(w.logits, z), w.classes, w.labels[:n])
		binary.NativeEndian.PutUint64(into, math.Float64bits(sum*a.Scale))
		return nil
	})
	w.made = w.beside.Record()
}

// Await delays a queue until the newest loss is made.
func (w *weighing) Await(q gpu.Queue) {
	if w.made != nil {
		q.Wait(w.made)
	}
}
