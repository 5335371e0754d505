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
	c := q.check("Adam")
	n := a.Param.Len
	if a.Step < 1 {
		c.fail("step %d, the first is 1", a.Step)
	}
	t := float64(a.Step)
	s := &adam{
		param: c.vec("Param", a.Param, n), grad: c.vec("Grad", a.Grad, n),
		m: c.vec("M", a.M, n), v: c.vec("V", a.V, n), vMax: c.optional("VMax", a.VMax, n),
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
		q.dev.rows(n, 1, func(_, lo, hi int) { s.run(lo, hi) })
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
	c := q.check("SGD")
	p := array(c, "param", param)
	g := c.vec("grad", grad, param.Len)
	if len(p) == 0 {
		return
	}
	q.compute("SGD", gpu.PhaseReduce, func() {
		q.dev.rows(len(p), 1, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				p[i] -= lr * (g[i] + weightDecay*p[i])
			}
		})
	})
}
