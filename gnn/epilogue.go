package gnn

import "capgnn/gpu"

// normEps is LayerNorm's epsilon, PyTorch's default (docs/mathematics.md).
const normEps = 1e-5

// epilogue returns LayerNorm → activation → dropout of layer l.
func (x *exec) epilogue(l int) gpu.Epilogue {
	s, pr := x.stage(l), &x.params.layers[l]
	e := gpu.Epilogue{Z: *s.z, H: *s.h, Act: x.cfg.act()}
	if x.cfg.adds(l) {
		e.H = *s.sum
	}
	if x.cfg.normed() {
		e.Norm, e.Gamma, e.Beta, e.Eps = true, pr.gamma, pr.beta, normEps
	}
	if x.training() {
		e.Dropout = x.dropout(l)
		if e.Norm {
			e.Rstd = *s.rstd
		}
	}
	return e
}

// dropout is that behind layer l.
func (x *exec) dropout(l int) gpu.Dropout {
	if x.cfg.Dropout == 0 {
		return gpu.Dropout{}
	}
	return x.dropping(l, x.graph(l).Rows)
}

// dropping is the dropout of so many rows, by the counters of a layer.
func (x *exec) dropping(l, rows int) gpu.Dropout {
	return gpu.Dropout{P: x.cfg.Dropout, Seed: x.cfg.Seed, Layer: uint32(l), Epoch: x.epoch, IDs: x.in.IDs.Slice(0, rows)}
}

// epilogueBackward turns the gradient d of layer l's output into that of its convolution and makes the output again, in
// the place of the normalised rows. It returns both.
func (x *exec) epilogueBackward(l int, d gpu.Matrix) (dz, h gpu.Matrix) {
	s, pr, gr := x.stage(l), &x.params.layers[l], &x.grads.layers[l]
	if s.h == nil {
		if x.cfg.Kind == GCNII {
			x.activatedGrad(l, d, *s.z)
		}
		return d, *s.z
	}
	if x.cfg.adds(l) {
		return x.residualBackward(l, d)
	}
	dz = d
	if s.dz != nil {
		dz = *s.dz
	}
	if !x.cfg.normed() {
		x.activationBackward(l, d, dz)
		return dz, *s.z
	}
	x.q.EpilogueBackward(gpu.EpilogueGrad{DH: d, X: *s.z, DZ: dz, H: *s.z, Norm: true, Gamma: pr.gamma, Beta: pr.beta, Rstd: *s.rstd, Act: x.cfg.act(),
		Dropout: x.dropout(l), DGamma: gr.gamma, DBeta: gr.beta, DBias: gr.bias})
	return dz, *s.z
}

// activationBackward turns the gradient d of activation and dropout of layer l, straight behind its convolution, into dz. What they made is in z already, or is made
// there again if the next layer has read it in another type. What was dropped is 0, and what was not has the sign of what ReLU read.
func (x *exec) activationBackward(l int, d, dz gpu.Matrix) {
	s := x.stage(l)
	e := gpu.EpilogueGrad{DH: d, X: *s.z, DZ: dz, Act: x.cfg.act(), Dropout: x.dropout(l), DBias: x.grads.layers[l].bias}
	if s.h != s.z {
		e.H = *s.z
	}
	x.q.EpilogueBackward(e)
}

// activatedGrad turns d, the gradient of activation and dropout of a layer, into that of what they read; y is what they made.
func (x *exec) activatedGrad(l int, d, y gpu.Matrix) {
	x.q.EpilogueBackward(gpu.EpilogueGrad{DH: d, X: y, DZ: d, Act: x.cfg.act(), Dropout: x.dropout(l)})
}
