package host

import (
	"math"

	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

// Adam: one step of Adam or AdamW.
func (q *Queue) Adam(a gpu.AdamArgs) {
	q.check("Adam").Adam(a)
	n, t := a.Param.Len, float64(a.Step)
	s := &kernel.Adam{
		Param: values(a.Param), Grad: values(a.Grad), M: values(a.M), V: values(a.V), VMax: values(a.VMax),
		B1: float32(a.Beta1), B2: float32(a.Beta2), C1: float32(1 - a.Beta1), C2: float32(1 - a.Beta2),
		Step: float32(a.LR / (1 - math.Pow(a.Beta1, t))), Root: float32(1 / math.Sqrt(1-math.Pow(a.Beta2, t))),
		Eps: float32(a.Eps),
	}
	if a.Decoupled {
		s.Shrink = float32(a.LR * a.WeightDecay)
	} else {
		s.Decay = float32(a.WeightDecay)
	}
	if n == 0 {
		return
	}
	q.compute("Adam", gpu.PhaseReduce, func() {
		q.dev.pool.Rows(n, 1, func(_, lo, hi int) { s.Run(lo, hi) })
	})
}

// SGD: param[i] -= lr·(grad[i] + weightDecay·param[i]).
func (q *Queue) SGD(param, grad gpu.Vec, lr, weightDecay float32) {
	q.check("SGD").SGD(param, grad)
	p, g := values(param), values(grad)
	if len(p) == 0 {
		return
	}
	q.compute("SGD", gpu.PhaseReduce, func() {
		q.dev.pool.Rows(len(p), 1, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				p[i] -= lr * (g[i] + weightDecay*p[i])
			}
		})
	})
}
