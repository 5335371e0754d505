package host

import "unsafe"

// grown returns n elements of *s, in any state, enlarging it if it is too small.
func grown[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// zeros returns n zeros in *s.
func zeros[T any](s *[]T, n int) []T {
	z := grown(s, n)
	clear(z)
	return z
}

// own is scratch memory that is divided among workers.
type own struct {
	v []float32
	n int
}

// own returns n floats of *s for each worker, in any state.
func (p *pool) Own(s *[]float32, n int) own {
	n = roundUp(n, line)
	return own{grow(s, p.Threads*n), n}
}

// of returns what belongs to a worker.
func (o own) Of(worker int) []float32 { return o.v[worker*o.n : (worker+1)*o.n] }

// line is the number of float32s in a cache line.
const line = 64 / 4

// grow returns n floats on a 64-byte border from *buf, which it replaces if it is too small. Their content is undefined.
func grow(buf *[]float32, n int) []float32 {
	if n == 0 {
		return nil
	}
	if cap(*buf) < n+line {
		*buf = make([]float32, n+line)
	}
	s := (*buf)[:n+line]
	off := int(-uintptr(unsafe.Pointer(&s[0])) / 4 % line)
	return s[off : off+n]
}
