//go:build !amd64 || noasm

package kernel

import "capgnn/gpu"

// detect returns generic: there is no assembly in this build. What follows are the kernels that the assembly replaces.
func detect() Level { return generic }

func gemmKernel() *tileKernel { return &portableTile }

func packBlock(_, _ []float32, _, _, _ int) bool { return false }

func (s *spmmArgs) rows(k0, k1 int) { s.rowsGo(k0, k1) }

func philoxKeep(dst []uint32, id, layer, epoch uint32, key [2]uint32, threshold uint32) {
	philoxKeepGo(dst, id, layer, epoch, key, threshold)
}

func axpbyRow(dst []float32, a float32, src []float32, b float32) { axpbyGo(dst, a, src, b) }

func transposeSquares(_, _ Dense, i0, _, j0, _ int) (i, j int) { return i0, j0 }

func dotWideRow(a, b []float32) float64 { return dotWideGo(a, b) }

func (s *Adam) Run(lo, hi int) { s.runGo(lo, hi) }

func toBF16(dst []uint16, src []float32) { toBF16Go(dst, src) }

func fromBF16(dst []float32, src []uint16) { fromBF16Go(dst, src) }

func SoftmaxRow(e, x []float32) (top float32, sum float64) { return softmaxRowGo(e, x) }

func BCERow(grad, x []float32, targets []uint8, scale float32) (sum, product float64) {
	return bceRowGo(grad, x, targets, scale)
}

func PlainForward(h, z []float32, relu bool, keep []uint32, keepScale float32) {
	plainForwardGo(h, z, relu, keep, keepScale)
}

func PlainBackward(dz, dh, x []float32, keep []uint32, keepScale float32) {
	plainBackwardGo(dz, dh, x, keep, keepScale)
}

func (r *normRow) forward(eps float32) float32 { return r.forwardGo(eps) }

func (r *normRow) backward(rstd float32, dz, dgamma, dbeta, dbias, out []float32) {
	r.backwardGo(rstd, dz, dgamma, dbeta, dbias, out)
}

func activate(f gpu.Activation, h, z []float32, keep []uint32, keepScale float32) {
	activateGo(f, h, z, keep, keepScale)
}

func activateBackward(f gpu.Activation, dz, dh, h []float32, keep []uint32, keepScale float32) {
	activateBackwardGo(f, dz, dh, h, keep, keepScale)
}

func affine(y, x, gamma, beta []float32) { affineGo(y, x, gamma, beta) }

func topBits(src []float32) uint32 { return topBitsGo(src) }

func quantise(dst []byte, src []float32, scale float32, first uint32, d Draw) {
	quantiseGo(dst, src, scale, first, d)
}

func Spread(dst []float32, src []byte, scale float32) { spreadGo(dst, src, scale) }

func edgeBits(dst []uint32, n int, u, v []uint32, stream, epoch uint32, key [2]uint32, threshold uint32) {
	edgeBitsGo(dst, n, u, v, stream, epoch, key, threshold)
}
