//go:build cuda

package cuda

import "capgnn/gpu"

// mostLossParts is the number of blocks of a loss, each with its own partial sum: a warp adds them at the end.
const mostLossParts = 1024

// SoftmaxLoss: cross-entropy and its gradient.
func (q *queue) SoftmaxLoss(a gpu.LossArgs) {
	q.check("SoftmaxLoss").SoftmaxLoss(a)
	q.loss("SoftmaxLoss", a, "capgnn_softmax_loss", intsPtr(a.Labels))
}

// BCELoss: binary cross-entropy with logits and its gradient.
func (q *queue) BCELoss(a gpu.LossArgs) {
	q.check("BCELoss").BCELoss(a)
	q.loss("BCELoss", a, "capgnn_bce_loss", arrPtr(a.Targets), arrPtr(a.Mask))
}

// loss launches a loss kernel with what it compares the logits with, and adds its partial sums.
func (q *queue) loss(op string, a gpu.LossArgs, kernel string, truth ...word) {
	q.begin(op, gpu.PhaseOther)
	count := 0
	var part word
	if !a.Logits.Empty() {
		count = min(mostLossParts, int(blocks(a.Logits.Rows, warps)))
		part = q.workspace(count, 8)
		half := 0
		if a.Grad.Type == gpu.BF16 {
			half = 1
		}
		args := []word{i64(int64(a.Logits.Rows)), i32(a.Logits.Cols), matPtr(a.Logits), ld(a.Logits), matPtr(a.Grad), ld(a.Grad), i32(half)}
		args = append(append(args, truth...), f32(float32(a.Scale)), part)
		q.launch(kernel, dim{uint32(count), 1}, blockSize, 0, args...)
	}
	q.launch("capgnn_sum64", dim{1, 1}, 32, 0, arrPtr(a.Loss), part, i32(count), f64(a.Scale))
}
