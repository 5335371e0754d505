package gputest

import (
	"fmt"
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

		a.Logits = b.put(x, l)
		for _, grad := range []gpu.Matrix{{}, b.blankOf(s.rows, s.cols, l, gpu.BF16)} {
			a.Grad = grad
			b.q.SoftmaxLoss(a)
			b.loss(a, x, func() (float64, ref.Matrix) { return ref.SoftmaxLoss(x, labels, scale) })
		}
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

		a.Logits = b.put(x, l)
		for _, grad := range []gpu.Matrix{{}, b.blankOf(s.rows, s.cols, l, gpu.BF16)} {
			a.Grad = grad
			b.q.BCELoss(a)
			b.loss(a, x, func() (float64, ref.Matrix) { return ref.BCELoss(x, targets, mask, scale) })
		}
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
		b.nearStored("Grad", a.Grad, grad, x.Cols, func(i, j int) float64 { return a.Scale })
	}
}

// testLossNaN demands that a logit that is no number, or an infinite one where that leaves no probability, shows in the loss.
func testLossNaN(b *bench) {
	for _, cols := range []int{1, 7, 16, 41} {
		b.scene(fmt.Sprintf("%d_classes", cols), func(b *bench) {
			for j := range cols {
				x := b.normal(3, cols)
				x.Row(1)[j] = math.NaN()
				a := gpu.LossArgs{
					Logits: b.put(x, layouts[0]), Labels: array(b, []int32{0, 0, 0}), Targets: array(b, make([]uint8, 3*cols)),
					Scale: 1, Loss: array(b, []float64{0}),
				}
				b.q.SoftmaxLoss(a)
				if v := b.getFloat64(a.Loss); !math.IsNaN(v) {
					b.Errorf("softmax with NaN in column %d gives the loss %v", j, v)
				}
				b.q.BCELoss(a)
				if v := b.getFloat64(a.Loss); !math.IsNaN(v) {
					b.Errorf("BCE with NaN in column %d gives the loss %v", j, v)
				}
			}
		})
	}
}

// testLossFar demands finite losses and gradients of logits far apart, with the gradient's small parts kept: what is taken
// from 1 must not cancel.
func testLossFar(b *bench) {
	b.scene("far", func(b *bench) {
		for _, gap := range []float64{5, 15, 30, 80, 200, 1e30} {
			// The label of row 0 is far above the other classes, that of row 1 far below.
			x := float32s(ref.Map(2, 20, func(i, j int) float64 {
				if (j == 2) == (i == 0) {
					return 0
				}
				return -gap
			}))
			labels, targets := []int32{2, 2}, make([]uint8, 40)
			for i := range targets {
				targets[i] = uint8(i / 5 % 2)
			}
			a := gpu.LossArgs{
				Logits: b.put(x, layouts[0]), Grad: b.blank(2, 20, layouts[0]), Labels: array(b, labels),
				Targets: array(b, targets), Scale: 1, Loss: array(b, []float64{0}),
			}
			b.q.SoftmaxLoss(a)
			loss, grad := ref.SoftmaxLoss(x, labels, 1)
			b.nearNumber("softmax", b.getFloat64(a.Loss), loss, 1, loss+1)
			b.relative("softmax", b.get(a.Grad), grad)
			b.q.BCELoss(a)
			loss, grad = ref.BCELoss(x, targets, nil, 1)
			b.nearNumber("BCE", b.getFloat64(a.Loss), loss, 1, loss+1)
			b.relative("BCE", b.get(a.Grad), grad)
		}
	})
}

// relative demands what is right to 16 roundings of float32, or to the 32 of float64 that sums of 20 terms near 1 make.
func (b *bench) relative(what string, got, want ref.Matrix) {
	b.Helper()
	for e, w := range want.V {
		if math.Abs(got.V[e]-w) > 16*unit*math.Abs(w)+0x1p-48 {
			b.Errorf("%s: gradient %d is %.9g, want %.9g", what, e, got.V[e], w)
			return
		}
	}
}
