//go:build !noasm

package kernel

// PlainForward: h[j] = keep(j) ? relu(z[j])·keepScale : 0; keep nil: h[j] = relu(z[j]). h may be z.
func PlainForward(h, z []float32, relu bool, keep []uint32, keepScale float32) {
	n := len(z)
	h = h[:n]
	switch {
	case Active == generic || n < short:
		plainForwardGo(h, z, relu, keep, keepScale)
	case Active == avx512:
		plain512forward(n, &h[0], &z[0], relu, first(keep), keepScale)
	default:
		plain256forward(n, &h[0], &z[0], relu, first(keep), keepScale)
	}
}

// PlainBackward: dz[j] = keep(j) and x[j] > 0 ? dh[j]·keepScale : 0; keep nil: all are kept, unscaled; x nil: no ReLU. dz
// may be dh or x.
func PlainBackward(dz, dh, x []float32, keep []uint32, keepScale float32) {
	n := len(dh)
	dz = dz[:n]
	switch {
	case Active == generic || n < short:
		plainBackwardGo(dz, dh, x, keep, keepScale)
	case Active == avx512:
		plain512backward(n, &dz[0], &dh[0], first(x), first(keep), keepScale)
	default:
		plain256backward(n, &dz[0], &dh[0], first(x), first(keep), keepScale)
	}
}
