package gnn

import (
	"fmt"

	"capgnn/gpu"
)

// Params are the parameters (or the gradients) of a model on a device: one flat vector in the layout of Weights, and
// views of it per layer.
type Params struct {
	Flat   gpu.Vec
	layers []layerParams
}

// layerParams are the views of one layer; which ones exist depends on the model.
type layerParams struct {
	w          gpu.Matrix // GCN, GAT, SGC lin.weight; SAGE, GATv2 lin_l.weight; GIN nn.lins.0.weight; GCNII weight1
	w2         gpu.Matrix // SAGE, GATv2 lin_r.weight; GIN nn.lins.1.weight; GCNII lins.1.weight, of the last layer
	bias       gpu.Vec    // what is added last: GIN nn.lins.1.bias; of APPNP nothing
	innerBias  gpu.Vec    // GIN nn.lins.0.bias; GATv2 lin_l.bias
	rootBias   gpu.Vec    // GATv2 lin_r.bias
	origin     [2]affine  // of layer 0: APPNP lin1 and lin2, GCNII lins.0
	eps        gpu.Vec    // GIN
	aSrc, aDst gpu.Vec    // GAT
	att        gpu.Vec    // GATv2
	gamma      gpu.Vec    // norms.weight
	beta       gpu.Vec    // norms.bias
	jump       affine     // jumping knowledge: the layer's columns of lin.weight; the bias in layer 0
}

// affine is a Linear of torch.nn.
type affine struct {
	w    gpu.Matrix
	bias gpu.Vec
}

// Bind returns views of flat, a device vector of len(w.Flat) elements in the layout of w.
func Bind(c Config, w *Weights, flat gpu.Vec) *Params {
	if flat.Len != len(w.Flat) {
		panic(fmt.Sprintf("gnn: bind %d elements, the model has %d", flat.Len, len(w.Flat)))
	}
	p := &Params{Flat: flat, layers: make([]layerParams, c.Layers)}
	byName := map[string]*Tensor{}
	for i := range w.Tensors {
		byName[w.Tensors[i].Name] = &w.Tensors[i]
	}
	vec := func(format string, l ...any) gpu.Vec {
		t, ok := byName[fmt.Sprintf(format, l...)]
		if !ok {
			return gpu.Vec{}
		}
		return flat.Slice(t.Off, t.Off+len(t.Data))
	}
	mat := func(format string, l ...any) gpu.Matrix {
		t, ok := byName[fmt.Sprintf(format, l...)]
		if !ok {
			return gpu.Matrix{}
		}
		return gpu.Matrix{Buf: flat.Buf, Off: flat.Off + t.Off, Rows: t.Shape[0], Cols: t.Shape[1], LD: t.Shape[1]}
	}
	for l := range p.layers {
		lp := &p.layers[l]
		lp.gamma, lp.beta = vec("norms.%d.weight", l), vec("norms.%d.bias", l)
		if c.Jumping {
			lp.jump.w = mat("lin.weight").ColRange(l*c.Hidden, (l+1)*c.Hidden)
			if l == 0 {
				lp.jump.bias = vec("lin.bias")
			}
		}
		switch c.Kind {
		case SAGE:
			lp.w, lp.w2 = mat("convs.%d.lin_l.weight", l), mat("convs.%d.lin_r.weight", l)
			lp.bias = vec("convs.%d.lin_l.bias", l)
		case GIN:
			lp.w, lp.w2 = mat("convs.%d.nn.lins.0.weight", l), mat("convs.%d.nn.lins.1.weight", l)
			lp.innerBias, lp.bias = vec("convs.%d.nn.lins.0.bias", l), vec("convs.%d.nn.lins.1.bias", l)
			lp.eps = vec("convs.%d.eps", l)
		case SGC:
			if l == 0 {
				lp.w = mat("lin.weight")
			}
			if l == c.Layers-1 {
				lp.bias = vec("lin.bias")
			}
		case APPNP:
			if l == 0 {
				lp.origin = [2]affine{{mat("lin1.weight"), vec("lin1.bias")}, {mat("lin2.weight"), vec("lin2.bias")}}
			}
		case GCNII:
			lp.w = mat("convs.%d.weight1", l)
			if l == 0 {
				lp.origin[0] = affine{mat("lins.0.weight"), vec("lins.0.bias")}
			}
			if l == c.Layers-1 {
				lp.w2, lp.bias = mat("lins.1.weight"), vec("lins.1.bias")
			}
		case GATv2:
			lp.w, lp.w2 = mat("convs.%d.lin_l.weight", l), mat("convs.%d.lin_r.weight", l)
			lp.innerBias, lp.rootBias = vec("convs.%d.lin_l.bias", l), vec("convs.%d.lin_r.bias", l)
			lp.att, lp.bias = vec("convs.%d.att", l), vec("convs.%d.bias", l)
		default:
			lp.w, lp.bias = mat("convs.%d.lin.weight", l), vec("convs.%d.bias", l)
			lp.aSrc, lp.aDst = vec("convs.%d.att_src", l), vec("convs.%d.att_dst", l)
		}
	}
	return p
}
