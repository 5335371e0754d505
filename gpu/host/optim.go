package host

import (
	"math"

	"capgnn/gpu"
)

// adam is a resolved gpu.AdamArgs, with the factors of its loop rounded to float32.
type adam struct {
	param, grad, m, v, vMax        []float32
	b1, b2, c1, c2                 float32 // betas, and 1 - betas
	step, root, eps, decay, shrink float32 // LR/(1-b1^t), 1/√(1-b2^t), Eps, L2 decay, decoupled LR·decay
}

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

// runGo is run in Go.
func (s *adam) runGo(lo, hi int) {
	for i := lo; i < hi; i++ {
		p := s.param[i]
		p -= s.shrink * p
		g := s.grad[i] + s.decay*p
		m := s.b1*s.m[i] + s.c1*g
		v := s.b2*s.v[i] + s.c2*g*g
		s.m[i], s.v[i] = m, v
		if s.vMax != nil {
			v = max(s.vMax[i], v)
			s.vMax[i] = v
		}
		s.param[i] = p - s.step*m/(float32(math.Sqrt(float64(v)))*s.root+s.eps)
	}
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
