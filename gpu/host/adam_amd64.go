//go:build !noasm

package host

// run updates elements lo to hi, of which there is at least one.
func (s *adam) run(lo, hi int) {
	step := adam512step
	switch active {
	case generic:
		s.runGo(lo, hi)
		return
	case avx2:
		step = adam256step
	}
	step(hi-lo, &s.param[lo], &s.grad[lo], &s.m[lo], &s.v[lo], first(s.vMax[min(lo, len(s.vMax)):]),
		s.shrink, s.decay, s.b1, s.c1, s.b2, s.c2, s.step, s.root, s.eps)
}
