package gputest

import (
	"math"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

func testSoftmaxLoss(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		if s.cols == 0 {
			return
		}
		x := float32s(ref.Axpby(ref.Matrix{}, 5, b.normal(s.rows, s.cols), 0))
		labels := b.ints(s.rows, s.cols)
		for i := 0; i < s.rows; i += 3 {
			labels[i] = -1
		}
		scale := 1 / float64(s.rows+1)
		a := gpu.LossArgs{
			Logits: b.put(x, l), Grad: b.blank(s.rows, s.cols, l), Labels: array(b, labels),
			Scale: scale, Loss: array(b, []float64{math.NaN()}),
		}
		b.q.SoftmaxLoss(a)
		b.loss(a, x, func() (float64, ref.Matrix) { return ref.SoftmaxLoss(x, labels, scale) })

		a.Logits = b.put(x, l)
		a.Grad = a.Logits
		b.q.SoftmaxLoss(a)
		b.loss(a, x, func() (float64, ref.Matrix) { return ref.SoftmaxLoss(x, labels, scale) })

		a.Logits, a.Grad = b.put(x, l), gpu.Matrix{}
		b.q.SoftmaxLoss(a)
		b.loss(a, x, func() (float64, ref.Matrix) { return ref.SoftmaxLoss(x, labels, scale) })
	})
}

func testBCELoss(b *bench) {
	b.dense(func(b *bench, s shape, l layout) {
		x := float32s(ref.Axpby(ref.Matrix{}, 5, b.normal(s.rows, s.cols), 0))
		targets, mask := make([]uint8, s.rows*s.cols), make([]uint8, s.rows)
		for i := range targets {
			targets[i] = uint8(b.rng.IntN(2))
		}
		for i := range mask {
			mask[i] = uint8(b.rng.IntN(2))
		}
		scale := 1 / float64(s.rows*s.cols+1)
		a := gpu.LossArgs{
			Logits: b.put(x, l), Grad: b.blank(s.rows, s.cols, l), Targets: array(b, targets), Mask: array(b, mask),
			Scale: scale, Loss: array(b, []float64{math.NaN()}),
		}
		b.q.BCELoss(a)
		b.loss(a, x, func() (float64, ref.Matrix) { return ref.BCELoss(x, targets, mask, scale) })

		a.Mask = gpu.Array[uint8]{}
		a.Logits = b.put(x, l)
		a.Grad = a.Logits
		b.q.BCELoss(a)
		b.loss(a, x, func() (float64, ref.Matrix) { return ref.BCELoss(x, targets, nil, scale) })
	})
}

// loss compares a loss and its gradient. The sum runs in float64 over rows whose terms (a logit, a logarithm of a sum of
// float32 exponentials) have the rounding of float32. A gradient is a difference of a quotient in [0, 1] and 0 or 1.
func (b *bench) loss(a gpu.LossArgs, x ref.Matrix, want func() (float64, ref.Matrix)) {
	b.Helper()
	loss, grad := want()
	terms := 0.0
	for i := range x.Rows {
		terms += (largest(x.Row(i)) + 1) * a.Scale * float64(x.Cols)
	}
	b.nearNumber("Loss", b.getFloat64(a.Loss), loss, 1, terms)
	if !a.Grad.Empty() {
		b.near("Grad", b.get(a.Grad), grad, x.Cols, func(i, j int) float64 { return a.Scale })
	}
}
