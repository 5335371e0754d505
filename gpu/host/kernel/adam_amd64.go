//go:build !noasm

package kernel

// Run updates elements lo to hi, of which there is at least one.
func (s *Adam) Run(lo, hi int) {
	step := adam512step
	switch Active {
	case generic:
		s.runGo(lo, hi)
		return
	case avx2:
		step = adam256step
	}
	step(hi-lo, &s.Param[lo], &s.Grad[lo], &s.M[lo], &s.V[lo], first(s.VMax[min(lo, len(s.VMax)):]),
		s.Shrink, s.Decay, s.B1, s.C1, s.B2, s.C2, s.Step, s.Root, s.Eps)
}
