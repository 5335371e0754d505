//go:build cuda

package cuda

import (
	"math"

	"capgnn/gpu"
)

// Adam: one step of Adam or AdamW.
func (q *queue) Adam(a gpu.AdamArgs) {
	q.check("Adam").Adam(a)
	n := a.Param.Len
	if n == 0 {
		return
	}
	t := float64(a.Step)
	step, root := a.LR/(1-math.Pow(a.Beta1, t)), 1/math.Sqrt(1-math.Pow(a.Beta2, t))
	decay, shrink := a.WeightDecay, 0.0
	if a.Decoupled {
		decay, shrink = 0, a.LR*a.WeightDecay
	}
	args := []word{i64(int64(n)), vecPtr(a.Param), vecPtr(a.Grad), vecPtr(a.M), vecPtr(a.V), vecPtr(a.VMax)}
	for _, x := range []float64{a.Beta1, a.Beta2, 1 - a.Beta1, 1 - a.Beta2, step, root, a.Eps, decay, shrink} {
		args = append(args, f32(float32(x)))
	}
	q.begin("Adam", gpu.PhaseReduce)
	q.launch("capgnn_adam", perElement(n), blockSize, 0, args...)
}

// SGD: param[i] -= lr·(grad[i] + weightDecay·param[i]).
func (q *queue) SGD(param, grad gpu.Vec, lr, weightDecay float32) {
	q.check("SGD").SGD(param, grad)
	if param.Len == 0 {
		return
	}
	q.begin("SGD", gpu.PhaseReduce)
	q.launch("capgnn_sgd", perElement(param.Len), blockSize, 0, i64(int64(param.Len)), vecPtr(param), vecPtr(grad), f32(lr), f32(weightDecay))
}

// perElement returns the grid of a kernel with a thread for every element, or for several.
func perElement(n int) dim { return dim{min(blocks(n, blockSize), mostGrid), 1} }
