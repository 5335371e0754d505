package kernel

import "math"

// activation returns y = gamma·x + beta. The conversion keeps the compiler from fusing the two operations in one of the
// directions only: forward and backward must agree on the sign of y.
func activation(gamma, x, beta float32) float32 { return float32(gamma*x) + beta }

// drops reports whether dropout clears element j.
func (r *normRow) drops(j int) bool { return r.keep != nil && r.keep[j/32]>>(j%32)&1 == 0 }

// sum8 adds eight partial sums; columns j mod 8 have one each: shorter chains than one sum, smaller errors.
func sum8(s *[8]float32) float32 {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// forwardGo is NormForward in Go.
func (r *normRow) forwardGo(eps float32) (rstd float32) {
	n := float32(len(r.x))
	var s [8]float32
	for j, v := range r.x {
		s[j%8] += v
	}
	mu := sum8(&s) / n
	s = [8]float32{}
	for j, v := range r.x {
		s[j%8] += (v - mu) * (v - mu)
	}
	rstd = 1 / float32(math.Sqrt(float64(sum8(&s)/n+eps)))
	for j, v := range r.x {
		x := (v - mu) * rstd
		r.x[j] = x
		r.h[j] = r.result(j)
	}
	return rstd
}

// result returns h[j] for the normalised x[j].
func (r *normRow) result(j int) float32 {
	y := activation(r.gamma[j], r.x[j], r.beta[j])
	if r.relu {
		y = max(y, 0)
	}
	if r.drops(j) {
		y = 0
	}
	return y * r.keepScale
}

// gradient returns dh[j] after dropout and ReLU.
func (r *normRow) gradient(j int) float32 {
	if r.drops(j) || r.relu && !(activation(r.gamma[j], r.x[j], r.beta[j]) > 0) {
		return 0
	}
	return r.h[j] * r.keepScale
}

// backwardGo is NormBackward in Go.
func (r *normRow) backwardGo(rstd float32, dz, dgamma, dbeta, dbias, out []float32) {
	n := float32(len(r.x))
	var s, sx [8]float32
	for j, x := range r.x {
		g := r.gradient(j)
		dgamma[j] += g * x
		dbeta[j] += g
		g *= r.gamma[j]
		s[j%8] += g
		sx[j%8] += g * x
	}
	mean, meanX := sum8(&s)/n, sum8(&sx)/n
	for j, x := range r.x {
		g := r.gradient(j)
		if out != nil {
			out[j] = r.result(j)
		}
		dz[j] = rstd * (g*r.gamma[j] - mean - x*meanX)
	}
	for j := range dbias {
		dbias[j] += dz[j]
	}
}
