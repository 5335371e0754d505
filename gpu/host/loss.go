package host

import (
	"math"

	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// loss is a resolved gpu.LossArgs.
type loss struct {
	logits        kernel.Dense
	grad          kernel.Either
	wanted        bool // the gradient is
	labels        []int32
	targets, mask []uint8
	scale         float64
	sum           []float64
}

// lossOf resolves what the losses share.
func lossOf(a gpu.LossArgs) *loss {
	l := &loss{logits: denseOf(a.Logits), wanted: !a.Grad.Empty(), scale: a.Scale, sum: values(a.Loss)}
	if l.wanted {
		l.grad = eitherOf(a.Grad)
	}
	return l
}

// run sets the sum over rows, by blocks of rows, of what row returns. row writes the row's gradient to grad.
func (l *loss) run(d *Device, row func(i int, grad []float32) float64) {
	cols := l.logits.Cols
	room := d.pool.Own(&d.work.row, cols)
	l.sum[0] = l.scale * d.sum64(l.logits.Rows, func(w, lo, hi int) float64 {
		s := 0.0
		for i := lo; i < hi; i++ {
			grad := room.Of(w)[:cols]
			if l.wanted {
				grad = l.grad.DraftRow(i, grad)
			}
			s += row(i, grad)
			if l.wanted {
				l.grad.StoreRow(i, grad)
			}
		}
		return s
	})
}

// SoftmaxLoss: cross-entropy and its gradient.
func (q *Queue) SoftmaxLoss(a gpu.LossArgs) {
	c := q.check("SoftmaxLoss")
	c.SoftmaxLoss(a)
	l := lossOf(a)
	l.labels = values(a.Labels)
	q.compute("SoftmaxLoss", gpu.PhaseOther, func() {
		l.run(q.dev, func(i int, grad []float32) float64 {
			if int(l.labels[i]) >= l.logits.Cols {
				c.Fail("label %d of row %d is not below %d classes", l.labels[i], i, l.logits.Cols)
			}
			return l.softmax(i, grad)
		})
	})
}

// softmax returns the unscaled loss of row i and writes its gradient. At the label, softmax - 1 is taken as the sum of the
// others, which has no cancellation: sum holds the very float32 that is subtracted.
func (l *loss) softmax(i int, grad []float32) float64 {
	label := int(l.labels[i])
	if label < 0 {
		clear(grad)
		return 0
	}
	x := l.logits.Row(i)
	at := float64(x[label])
	top, sum := kernel.SoftmaxRow(grad, x)
	if l.wanted {
		f := l.scale / sum
		others := sum - float64(grad[label])
		kernel.Axpby(grad, float32(f), grad, 0)
		grad[label] = float32(-others * f)
	}
	return math.Log(sum) + float64(top) - at
}

// BCELoss: binary cross-entropy with logits and its gradient.
func (q *Queue) BCELoss(a gpu.LossArgs) {
	q.check("BCELoss").BCELoss(a)
	l := lossOf(a)
	l.targets, l.mask = values(a.Targets), values(a.Mask)
	q.compute("BCELoss", gpu.PhaseOther, func() {
		if l.logits.Empty() {
			l.sum[0] = 0
			return
		}
		l.run(q.dev, l.bce)
	})
}

// bce returns the unscaled loss of row i and writes its gradient. Σ_j log(1 + e_j) is taken as log Π_j (1 + e_j).
func (l *loss) bce(i int, grad []float32) float64 {
	if l.mask != nil && l.mask[i] == 0 {
		clear(grad)
		return 0
	}
	x := l.logits.Row(i)
	targets := l.targets[i*len(x) : (i+1)*len(x)]
	loss := 0.0
	for j := 0; j < len(x); j += kernel.BCEGroup {
		end := min(j+kernel.BCEGroup, len(x))
		sum, product := kernel.BCERow(grad[j:end], x[j:end], targets[j:end], float32(l.scale))
		loss += sum + math.Log(product)
	}
	return loss
}
