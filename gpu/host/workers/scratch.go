package workers

import "unsafe"

// Grown returns n elements of *s, in any state, enlarging it if it is too small.
func Grown[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// Zeros returns n zeros in *s.
func Zeros[T any](s *[]T, n int) []T {
	z := Grown(s, n)
	clear(z)
	return z
}

// Own is scratch memory that is divided among workers.
type Own struct {
	v []float32
	n int
}

// Own returns n floats of *s for each worker, in any state.
func (p *Pool) Own(s *[]float32, n int) Own {
	n = (n + line - 1) / line * line
	return Own{Aligned(s, p.Threads*n), n}
}

// Of returns what belongs to a worker.
func (o Own) Of(worker int) []float32 { return o.v[worker*o.n : (worker+1)*o.n] }

// line is the number of float32s in a cache line.
const line = 64 / 4

// Aligned returns n floats on a 64-byte border from *buf, which it replaces if it is too small. Their content is undefined.
func Aligned(buf *[]float32, n int) []float32 {
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
