package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// tight reports whether layer l shares its slabs as closely as can be (docs/adr/0064): a layer of GCN behind the first that transforms first and makes no logits. It reads
// H, makes T = H·Wᵀ and Z = A·T, and of that the next H.
//
//   - H lies where Z will: it is dead once T is there.
//   - T lies where gradients of rows will. The last such layer puts its output in the place of T too, behind the aggregation and not in it.
//   - Backward, G = Aᵀ·dZ lies where the last hidden layer's output was.
//
// A pass with n hidden layers so has n + 1 slabs of hidden rows: those of the layers, which are kept, and one.
func (p *Pass) tight(l int) bool {
	return p.cfg.Kind == GCN && p.cfg.normed() && !p.cfg.Residual && l > 0 && l < p.cfg.HiddenLayers() && !p.plan.Layers[l].AggregateFirst
}

// turn is the slab of a kind for what layer l made, or for the gradient of what it reads: they live until the next layer has read them, so two slabs take turns.
func (p *Pass) turn(l int, kind string) string {
	if p.cfg.overwritesGrad() || !p.training() && len(p.layers) == 1 {
		return kind // a layer alone has nobody to take turns with
	}
	return fmt.Sprintf("%s-%d", kind, l%2)
}

// outputSlab returns the slab of layer l's output: the one of Z of the next layer if that layer is tight, else usual.
func (p *Pass) outputSlab(l int, usual string) string {
	if p.training() && p.tight(l+1) {
		return fmt.Sprintf("z%d", l+1)
	}
	return usual
}

// transformedSlab is where T of layer l lies.
func (p *Pass) transformedSlab(l int) string {
	switch {
	case !p.training() && p.someTight():
		return "z1" // evaluation keeps nothing: Z and H have the other two
	case p.training() && p.tight(l):
		return "rows"
	}
	return "g"
}

// scatteredSlab is where G of layer l lies.
func (p *Pass) scatteredSlab(l int) string {
	if p.tight(l) {
		return fmt.Sprintf("z%d", p.cfg.HiddenLayers()-1)
	}
	return "g"
}

// apart reports whether layer l's epilogue runs behind its aggregation, because it writes where that reads.
func (p *Pass) apart(l int) bool { return p.training() && p.tight(l) && !p.tight(l+1) }

// Outputs returns, after Backward, what each layer made in the Forward before it: what the next layer read, and for the last
// layer what lies where the logits were. All are FP32. For a layer whose output has been written over, these are the reciprocal deviations of its LayerNorm, which
// are not finite where its rows are not.
func (p *Pass) Outputs() []gpu.Matrix {
	out := make([]gpu.Matrix, len(p.stages))
	for l, s := range p.stages {
		if out[l] = *s.z; p.cfg.adds(l) {
			out[l] = *s.sum
		}
		if l == p.cfg.HiddenLayers()-1 && (p.someTight() || p.cfg.Residual && p.cfg.normed()) || p.cfg.adds(l) && p.cfg.normed() && s.sum != s.h {
			out[l] = gpu.Matrix{Buf: s.rstd.Buf, Off: s.rstd.Off, Rows: 1, Cols: s.rstd.Len, LD: max(1, s.rstd.Len)}
		}
	}
	return out
}

// someTight reports whether a layer of the network is tight.
func (p *Pass) someTight() bool {
	for l := range p.cfg.Layers {
		if p.tight(l) {
			return true
		}
	}
	return false
}
