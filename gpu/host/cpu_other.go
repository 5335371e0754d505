//go:build !amd64 || noasm

package host

// detect returns generic: there is no assembly in this build. What follows are the kernels that the assembly replaces.
func detect() level { return generic }

func gemmKernel() *tileKernel { return &portableTile }

func (s *spmmArgs) rows(k0, k1 int) { s.rowsGo(k0, k1) }

func philoxKeep(dst []uint32, id, layer, epoch uint32, key [2]uint32, threshold uint32) {
	philoxKeepGo(dst, id, layer, epoch, key, threshold)
}

func (r *normRow) forward(eps float32) float32 { return r.forwardGo(eps) }

func (r *normRow) output() { r.outputGo() }

func (r *normRow) backward(rstd float32, dz, dgamma, dbeta, dbias []float32) {
	r.backwardGo(rstd, dz, dgamma, dbeta, dbias)
}
