package kernel

// normRow is what the two directions of one row of LayerNorm·ReLU·dropout share. Every slice but keep is as long as x.
type normRow struct {
	x           []float32 // forward: z, overwritten with the normalised row; backward: the normalised row
	h           []float32 // forward: h; backward: dh
	gamma, beta []float32
	relu        bool
	keep        []uint32 // nil: no dropout
	keepScale   float32  // 1 without dropout
}

func newNormRow(x, h, gamma, beta []float32, relu bool, keep []uint32, keepScale float32) normRow {
	n := len(x)
	r := normRow{x, h[:n], gamma[:n], beta[:n], relu, nil, 1}
	if keep != nil {
		r.keep, r.keepScale = keep[:(n+31)/32], keepScale
	}
	return r
}

// NormForward normalises one row: with mu and var the mean and variance of z (in two passes) and x = (z-mu)·rstd,
//
//	z[j] = x;  y = gamma[j]·x + beta[j];  y = max(y, 0) if relu;  h[j] = keep(j) ? y·keepScale : 0
//
// and returns rstd = 1/√(var+eps). keep holds one bit per column as DropoutKeep writes them; nil: h[j] = y. h may not
// overlap z.
func NormForward(z, h, gamma, beta []float32, eps float32, relu bool, keep []uint32, keepScale float32) (rstd float32) {
	if len(z) == 0 {
		return 0
	}
	r := newNormRow(z, h, gamma, beta, relu, keep, keepScale)
	return r.forward(eps)
}

// NormBackward is the gradient of one row of NormForward, from dh, the gradient of h, and x, the row that NormForward
// left in z. With y and keep as there:
//
//	g = keep(j) ? dh[j]·keepScale : 0;  g = y > 0 ? g : 0 if relu;  dgamma[j] += g·x[j];  dbeta[j] += g
//	g' = g·gamma[j];  dz[j] = rstd·(g' - mean(g') - x[j]·mean(g'·x));  dbias[j] += dz[j] if dbias is given
//	out[j] = what NormForward wrote to h, bit for bit, if out is given
//
// dz may be dh or x, out may be x if dz is not.
func NormBackward(dz, dh, x, gamma, beta []float32, rstd float32, relu bool, keep []uint32, keepScale float32,
	dgamma, dbeta, dbias, out []float32) {
	n := len(x)
	if n == 0 {
		return
	}
	if dbias != nil {
		dbias = dbias[:n]
	}
	if out != nil {
		out = out[:n]
	}
	r := newNormRow(x, dh, gamma, beta, relu, keep, keepScale)
	r.backward(rstd, dz[:n], dgamma[:n], dbeta[:n], dbias, out)
}
