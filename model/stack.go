package model

import "fmt"

// layer is what a convolution is told: its number, the columns that it reads and makes, and whether it makes the
// logits.
type layer struct {
	l, in, out int
	last       bool
}

// name returns that of a tensor of the convolution.
func (c layer) name(s string) string { return fmt.Sprintf("convs.%d.%s", c.l, s) }

// stack is what GCN, GraphSAGE, GIN, GAT and GATv2 share: convolutions with a norm, an activation and dropout
// between them.
func stack(b *builder, conv func(h string, c layer) string) (*Program, error) {
	h, jumps := b.x, b.JK != "" && b.JK != JKNone
	if b.DropFeatures {
		h = b.drop(h, FeatureCounter)
	}
	var all []string
	for l := range b.Layers {
		c := layer{l, b.Hidden, b.Hidden, l == b.Layers-1 && !jumps}
		if l == 0 {
			c.in = b.In
		}
		if c.last {
			c.out = b.Out
		}
		z := conv(h, c)
		if !c.last {
			z = b.between(z, h, c)
		}
		if jumps && l == 0 {
			width := b.Hidden
			if b.JK == JKCat {
				width *= b.Layers
			}
			b.param("lin.weight", b.Out, width)
			b.param("lin.bias", b.Out)
		}
		h = z
		all = append(all, h)
	}
	if jumps {
		h = b.op(Linear, b.jump(all), "lin.weight", "lin.bias")
	}
	return b.finish(h)
}

// jump appends what the logits are made of: of all layers.
func (b *builder) jump(all []string) string {
	if b.JK == JKCat {
		return b.op(Concat, all...)
	}
	h := all[0]
	for _, x := range all[1:] {
		if b.JK == JKMax { // max(h, x) = h + relu(x − h)
			x = b.op(ReLU, b.sum(1, x, -1, h))
		}
		h = b.op(Add, h, x)
	}
	return h
}

// between appends what comes behind a convolution that read h.
func (b *builder) between(z, h string, c layer) string {
	name := fmt.Sprintf("norms.%d.", c.l)
	switch b.Norm {
	case NormBatch, NormGraph:
		z = b.normColumns(z, name, c.out)
	case "", NormLayer:
		z = b.op(LayerNorm, z, b.param(name+"weight", c.out), b.param(name+"bias", c.out))
	}
	z = b.drop(b.op(b.Activation, z), c.l)
	if b.Residual && c.l > 0 {
		z = b.op(Add, z, h)
	}
	return z
}

// normColumns appends a batch norm or a graph norm, with the tensors of PyTorch Geometric's modules.
func (b *builder) normColumns(z, name string, cols int) string {
	if b.Norm == NormGraph { // γ·c/√(mean(c²) + ε) + β with c = z − share·mean(z)
		gamma, beta, share := b.param(name+"weight", cols), b.param(name+"bias", cols), b.param(name+"mean_scale", cols)
		n := b.constant(VertexNum, 0)
		mean := func(x string) string { return b.op(Div, b.op(SumAll, x), n) }
		c := b.sum(1, z, -1, b.op(Mul, mean(z), share))
		deviation := b.op(Sqrt, b.op(Add, mean(b.op(Square, c)), b.constant(Number, 1e-5)))
		return b.op(Add, b.op(Div, b.op(Mul, c, gamma), deviation), beta)
	}
	name += "module."
	return b.op(BatchNorm, z, b.param(name+"weight", cols), b.param(name+"bias", cols),
		b.param(name+"running_mean", cols), b.param(name+"running_var", cols))
}
