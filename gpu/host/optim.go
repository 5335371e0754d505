package host

import (
	"math"

	"capgnn/gpu"
)

// Adam: one step of Adam or AdamW.
func (q *Queue) Adam(a gpu.AdamArgs) {
	q.check("Adam").Adam(a)
	n, t := a.Param.Len, float64(a.Step)
	s := &adam{
		param: values(a.Param), grad: values(a.Grad), m: values(a.M), v: values(a.V), vMax: values(a.VMax),
		b1: float32(a.Beta1), b2: float32(a.Beta2), c1: float32(1 - a.Beta1), c2: float32(1 - a.Beta2),
		step: float32(a.LR / (1 - math.Pow(a.Beta1, t))), root: float32(1 / math.Sqrt(1-math.Pow(a.Beta2, t))),
		eps: float32(a.Eps),
	}
	if a.Decoupled {
		s.shrink = float32(a.LR * a.WeightDecay)
	} else {
		s.decay = float32(a.WeightDecay)
	}
	if n == 0 {
		return
	}
	q.compute("Adam", gpu.PhaseReduce, func() {
		q.dev.pool.rows(n, 1, func(_, lo, hi int) { s.run(lo, hi) })
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
		q.dev.pool.rows(len(p), 1, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				p[i] -= lr * (g[i] + weightDecay*p[i])
			}
		})
	})
}
