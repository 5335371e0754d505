package host

import (
	"math"

	"capgnn/gpu"
)

// loss is a resolved gpu.LossArgs.
type loss struct {
	logits, grad  dense
	labels        []int32
	targets, mask []uint8
	scale         float64
	sum           []float64
}

func (c checker) loss(a gpu.LossArgs) *loss {
	l := &loss{logits: c.mat("Logits", a.Logits), scale: a.Scale, sum: array(c, "Loss", a.Loss)}
	if len(l.sum) != 1 {
		c.fail("Loss has %d elements, want 1", len(l.sum))
	}
	if !a.Grad.Empty() {
		l.grad = c.shaped("Grad", a.Grad, a.Logits.Rows, a.Logits.Cols)
	}
	return l
}

// run sets the sum over rows, by blocks of rows, of what row returns.
func (l *loss) run(d *Device, row func(i int) float64) {
	l.sum[0] = l.scale * d.sum64(l.logits.rows, func(lo, hi int) float64 {
		s := 0.0
		for i := lo; i < hi; i++ {
			s += row(i)
		}
		return s
	})
}

// gradRow returns row i of the gradient, nil if none is wanted.
func (l *loss) gradRow(i int) []float32 {
	if l.grad.empty() {
		return nil
	}
	return l.grad.row(i)
}

// SoftmaxLoss: cross-entropy and its gradient.
func (q *Queue) SoftmaxLoss(a gpu.LossArgs) {
	c := q.check("SoftmaxLoss")
	l := c.loss(a)
	if a.Labels.Len != a.Logits.Rows {
		c.fail("%d labels for %d rows", a.Labels.Len, a.Logits.Rows)
	}
	l.labels = array(c, "Labels", a.Labels)
	q.compute("SoftmaxLoss", gpu.PhaseOther, func() {
		l.run(q.dev, func(i int) float64 {
			if int(l.labels[i]) >= l.logits.cols {
				c.fail("label %d of row %d is not below %d classes", l.labels[i], i, l.logits.cols)
			}
			return l.softmax(i)
		})
	})
}

// softmax returns the unscaled loss of row i and writes its gradient.
func (l *loss) softmax(i int) float64 {
	label, grad := int(l.labels[i]), l.gradRow(i)
	if label < 0 {
		clear(grad)
		return 0
	}
	x := l.logits.row(i)
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	at, own, sum := x[label], 0.0, 0.0
	for j, v := range x {
		e := expNarrow(float64(v - top))
		sum += e
		if j == label {
			own = e
		}
		if grad != nil {
			grad[j] = float32(e)
		}
	}
	f := float32(l.scale / sum)
	for j := range grad {
		grad[j] *= f
	}
	if grad != nil {
		grad[label] = float32((own/sum - 1) * l.scale)
	}
	return math.Log(sum) + float64(top) - float64(at)
}

// BCELoss: binary cross-entropy with logits and its gradient.
func (q *Queue) BCELoss(a gpu.LossArgs) {
	c := q.check("BCELoss")
	l := c.loss(a)
	if a.Targets.Len != a.Logits.Rows*a.Logits.Cols {
		c.fail("%d targets for %d×%d logits", a.Targets.Len, a.Logits.Rows, a.Logits.Cols)
	}
	if !a.Mask.Empty() && a.Mask.Len != a.Logits.Rows {
		c.fail("mask of %d for %d rows", a.Mask.Len, a.Logits.Rows)
	}
	l.targets, l.mask = array(c, "Targets", a.Targets), array(c, "Mask", a.Mask)
	q.compute("BCELoss", gpu.PhaseOther, func() {
		if l.logits.empty() {
			l.sum[0] = 0
			return
		}
		l.run(q.dev, l.bce)
	})
}

// bceGroup is how many factors 1 + e ≤ 2 are multiplied before one logarithm: 2^512 is a float64.
const bceGroup = 512

// bce returns the unscaled loss of row i and writes its gradient. Σ_j log(1 + e_j) is taken as log Π_j (1 + e_j).
func (l *loss) bce(i int) float64 {
	grad := l.gradRow(i)
	if l.mask != nil && l.mask[i] == 0 {
		clear(grad)
		return 0
	}
	x := l.logits.row(i)
	targets := l.targets[i*len(x) : (i+1)*len(x)]
	sum, product := 0.0, 1.0
	for j, v := range x {
		t := float64(targets[j])
		y := float64(v)
		e := expNarrow(-math.Abs(y))
		product *= 1 + e
		if j%bceGroup == bceGroup-1 {
			sum += math.Log(product)
			product = 1
		}
		sigma := 1 / (1 + e)
		if y < 0 {
			sigma = e / (1 + e)
		} else {
			sum += y
		}
		sum -= y * t
		if grad != nil {
			grad[j] = float32((sigma - t) * l.scale)
		}
	}
	return sum + math.Log(product)
}
