//go:build !noasm

package kernel

import "capgnn/gpu"

// The kernels by activation.
var (
	activate512 = [...]func(n int, h, z *float32, keep *uint32, keepScale float32){
		gpu.LeakyReLU: leaky512forward, gpu.ELU: elu512forward, gpu.Tanh: tanh512forward,
	}
	activate256 = [...]func(n int, h, z *float32, keep *uint32, keepScale float32){
		gpu.LeakyReLU: leaky256forward, gpu.ELU: elu256forward, gpu.Tanh: tanh256forward,
	}
	activateBackward512 = [...]func(n int, dz, dh, h *float32, keep *uint32, keepScale float32){
		gpu.LeakyReLU: leaky512backward, gpu.ELU: elu512backward, gpu.Tanh: tanh512backward,
	}
	activateBackward256 = [...]func(n int, dz, dh, h *float32, keep *uint32, keepScale float32){
		gpu.LeakyReLU: leaky256backward, gpu.ELU: elu256backward, gpu.Tanh: tanh256backward,
	}
)

// activate is Activate of one element or more.
func activate(f gpu.Activation, h, z []float32, keep []uint32, keepScale float32) {
	switch n := len(z); Active {
	case avx512:
		activate512[f](n, &h[0], &z[0], first(keep), keepScale)
	case avx2:
		activate256[f](n, &h[0], &z[0], first(keep), keepScale)
	default:
		activateGo(f, h, z, keep, keepScale)
	}
}

// activateBackward is ActivateBackward of one element or more.
func activateBackward(f gpu.Activation, dz, dh, h []float32, keep []uint32, keepScale float32) {
	switch n := len(dh); Active {
	case avx512:
		activateBackward512[f](n, &dz[0], &dh[0], &h[0], first(keep), keepScale)
	case avx2:
		activateBackward256[f](n, &dz[0], &dh[0], &h[0], first(keep), keepScale)
	default:
		activateBackwardGo(f, dz, dh, h, keep, keepScale)
	}
}

// affine is Affine of one element or more.
func affine(y, x, gamma, beta []float32) {
	switch n := len(x); Active {
	case avx512:
		affine512row(n, &y[0], &x[0], &gamma[0], &beta[0])
	case avx2:
		affine256row(n, &y[0], &x[0], &gamma[0], &beta[0])
	default:
		affineGo(y, x, gamma, beta)
	}
}
