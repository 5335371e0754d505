package kernel

import "math"

// Adam is a resolved gpu.AdamArgs, with the factors of its loop rounded to float32.
type Adam struct {
	Param, Grad, M, V, VMax        []float32
	B1, B2, C1, C2                 float32 // betas, and 1 - betas
	Step, Root, Eps, Decay, Shrink float32 // LR/(1-b1^t), 1/√(1-b2^t), Eps, L2 decay, decoupled LR·decay
}

// runGo is run in Go.
func (s *Adam) runGo(lo, hi int) {
	for i := lo; i < hi; i++ {
		p := s.Param[i]
		p -= s.Shrink * p
		g := s.Grad[i] + s.Decay*p
		m := s.B1*s.M[i] + s.C1*g
		v := s.B2*s.V[i] + s.C2*g*g
		s.M[i], s.V[i] = m, v
		if s.VMax != nil {
			v = max(s.VMax[i], v)
			s.VMax[i] = v
		}
		s.Param[i] = p - s.Step*m/(float32(math.Sqrt(float64(v)))*s.Root+s.Eps)
	}
}
