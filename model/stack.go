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
	h := b.x
	if b.DropFeatures {
		h = b.drop(h, FeatureCounter)
	}
	var all []string
	for l := range b.Layers {
		c := layer{l, b.Hidden, b.Hidden, l == b.Layers-1 && !b.Jumping}
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
		if b.Jumping && l == 0 {
			b.param("lin.weight", b.Out, b.Layers*b.Hidden)
			b.param("lin.bias", b.Out)
		}
		h = z
		all = append(all, h)
	}
	if b.Jumping {
		h = b.op(Linear, b.op(Concat, all...), "lin.weight", "lin.bias")
	}
	return b.finish(h)
}

// between appends what comes behind a convolution that read h.
func (b *builder) between(z, h string, c layer) string {
	name := fmt.Sprintf("norms.%d.", c.l)
	switch {
	case b.BatchNorm:
		z = b.batchNorm(z, name, c.out)
	case !b.NoNorm:
		z = b.op(LayerNorm, z, b.param(name+"weight", c.out), b.param(name+"bias", c.out))
	}
	z = b.drop(b.op(b.Activation, z), c.l)
	if b.Residual && c.l > 0 {
		z = b.op(Add, z, h)
	}
	return z
}

// batchNorm appends one, with the tensors of PyTorch Geometric's module.
func (b *builder) batchNorm(z, name string, cols int) string {
	name += "module."
	return b.op(BatchNorm, z, b.param(name+"weight", cols), b.param(name+"bias", cols),
		b.param(name+"running_mean", cols), b.param(name+"running_var", cols))
}
