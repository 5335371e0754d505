package kernel

import "capgnn/gpu"

// Activate: h[j] = keep(j) ? f(z[j])·keepScale : 0, f a curved activation; keep nil: h[j] = f(z[j]). h may be z. The bits are the same at every Level.
func Activate(f gpu.Activation, h, z []float32, keep []uint32, keepScale float32) {
	if len(z) > 0 {
		activate(f, h[:len(z)], z, keep, keepScale)
	}
}

// ActivateBackward: dz[j] = keep(j) ? f'·dh[j]·keepScale : 0, f' the derivative where Activate wrote h[j] (gpu.EpilogueGrad); keep nil: all are kept, unscaled. dz
// may be dh or h. The bits are the same at every Level.
func ActivateBackward(f gpu.Activation, dz, dh, h []float32, keep []uint32, keepScale float32) {
	if n := len(dh); n > 0 {
		activateBackward(f, dz[:n], dh, h[:n], keep, keepScale)
	}
}

// Affine: y[j] = gamma[j]·x[j] + beta[j], by the bits of NormForward's y. y may be x.
func Affine(y, x, gamma, beta []float32) {
	if n := len(x); n > 0 {
		affine(y[:n], x, gamma[:n], beta[:n])
	}
}
