package kernel

import "math"

// Axpby: dst[j] = a·src[j] + b·dst[j]; with b = 0, dst is not read. dst may be src.
func Axpby(dst []float32, a float32, src []float32, b float32) {
	if len(dst) > 0 {
		axpbyRow(dst, a, src[:len(dst)], b)
	}
}

// axpbyGo is Axpby in Go.
func axpbyGo(dst []float32, a float32, src []float32, b float32) {
	src = src[:len(dst)]
	switch b {
	case 0:
		for j := range dst {
			dst[j] = a * src[j]
		}
	case 1:
		for j := range dst {
			dst[j] += a * src[j]
		}
	default:
		for j := range dst {
			dst[j] = a*src[j] + b*dst[j]
		}
	}
}

// AddBlocks adds the partial sums of count blocks to dst, block after block: dst[j] = (Σ_b part[b·stride + j]) + b0·dst[j].
// With b0 = 0, dst is not read.
func AddBlocks(dst, part []float32, count, stride int, b0 float32) {
	if count > 1 {
		sum := part[:len(dst)]
		for b := 1; b < count; b++ {
			Axpby(sum, 1, part[b*stride:b*stride+len(dst)], 1)
		}
	}
	for j := range dst {
		var s float32
		if count > 0 {
			s = part[j]
		}
		if b0 != 0 {
			s += b0 * dst[j]
		}
		dst[j] = s
	}
}

// DotWide returns Σ_j a[j]·b[j], products and sum in float64.
func DotWide(a, b []float32) float64 {
	if len(a) == 0 {
		return 0
	}
	return dotWideRow(a, b[:len(a)])
}

// dotWideGo is DotWide in Go.
func dotWideGo(a, b []float32) float64 {
	s := 0.0
	for j, v := range a {
		s += float64(v) * float64(b[j])
	}
	return s
}

// dot returns Σ_j a[j]·b[j], in eight sums side by side.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
		a, b = a[8:], b[8:]
	}
	for j, v := range a {
		s0 += v * b[j]
	}
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

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

// TransposeTile: d[j][i] = s[i][j] for i0 ≤ i < i1, j0 ≤ j < j1.
func TransposeTile(d, s Dense, i0, i1, j0, j1 int) {
	i, j := transposeSquares(d, s, i0, i1, j0, j1)
	transposeGo(d, s, i0, i, j, j1)
	transposeGo(d, s, i, i1, j0, j1)
}

// transposeGo is TransposeTile in Go.
func transposeGo(d, s Dense, i0, i1, j0, j1 int) {
	if i0 == i1 {
		return
	}
	for j := j0; j < j1; j++ {
		out := d.Row(j)[i0:i1]
		for k := range out {
			out[k] = s.V[(i0+k)*s.LD+j]
		}
	}
}
