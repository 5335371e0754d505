//go:build !noasm

package kernel

// forward is NormForward of a row with at least one column.
func (r *normRow) forward(eps float32) (rstd float32) {
	switch Active {
	case avx512:
		return norm512forward(len(r.x), &r.x[0], &r.h[0], &r.gamma[0], &r.beta[0], eps, r.relu, first(r.keep), r.keepScale)
	case avx2:
		return norm256forward(len(r.x), &r.x[0], &r.h[0], &r.gamma[0], &r.beta[0], eps, r.relu, first(r.keep), r.keepScale)
	}
	return r.forwardGo(eps)
}

// backward is NormBackward of a row with at least one column.
func (r *normRow) backward(rstd float32, dz, dgamma, dbeta, dbias, out []float32) {
	switch Active {
	case avx512:
		norm512backward(len(r.x), &dz[0], &r.h[0], &r.x[0], &r.gamma[0], &r.beta[0], rstd, r.relu, first(r.keep),
			r.keepScale, &dgamma[0], &dbeta[0], first(dbias), first(out))
	case avx2:
		norm256backward(len(r.x), &dz[0], &r.h[0], &r.x[0], &r.gamma[0], &r.beta[0], rstd, r.relu, first(r.keep),
			r.keepScale, &dgamma[0], &dbeta[0], first(dbias), first(out))
	default:
		r.backwardGo(rstd, dz, dgamma, dbeta, dbias, out)
	}
}
