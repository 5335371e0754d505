package host

import "math"

// adam is a resolved gpu.AdamArgs, with the factors of its loop rounded to float32.
type adam struct {
	param, grad, m, v, vMax        []float32
	b1, b2, c1, c2                 float32 // betas, and 1 - betas
	step, root, eps, decay, shrink float32 // LR/(1-b1^t), 1/√(1-b2^t), Eps, L2 decay, decoupled LR·decay
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
