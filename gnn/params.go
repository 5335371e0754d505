package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// Params are the parameters (or the gradients) of a model on a device: one flat vector in the layout of Weights.
type Params struct {
	Flat gpu.Vec
	of   *Weights
}

// Bind returns flat, a device vector of len(w.Flat) elements, in the layout of w.
func Bind(w *Weights, flat gpu.Vec) *Params {
	if flat.Len != len(w.Flat) {
		panic(fmt.Sprintf("gnn: bind %d elements, the model has %d", flat.Len, len(w.Flat)))
	}
	return &Params{Flat: flat, of: w}
}

// vec and mat return the view of a tensor.
func (p *Params) vec(name string) gpu.Vec {
	t := p.of.Tensor(name)
	return p.Flat.Slice(t.Off, t.Off+len(t.Data))
}

func (p *Params) mat(name string) gpu.Matrix {
	t := p.of.Tensor(name)
	return gpu.Matrix{Buf: p.Flat.Buf, Off: p.Flat.Off + t.Off, Rows: t.Shape[0], Cols: t.Shape[1], LD: t.Shape[1]}
}
