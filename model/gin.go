package model

// GIN is Z = MLP((1+ε)·H + Σ H) with a Linear, an activation and a Linear (Xu et al., ICLR 2019). With
// BatchNorm or GraphNorm its Linears have one between them, too.
func GIN(a Arguments) (*Program, error) {
	b := newBuilder(a)
	w, one := b.constant(EdgeWeight, 0), b.constant(Number, 1)
	return stack(b, func(h string, c layer) string {
		own := b.op(Mul, h, b.op(Add, one, b.param(c.name("eps"), 1)))
		y := b.linear(b.op(Add, b.propagate(h, w), own), c.name("nn.lins.0"), c.out, c.in)
		if b.Norm == NormBatch || b.Norm == NormGraph {
			y = b.normColumns(y, c.name("nn.norms.0."), c.out)
		}
		return b.linear(b.op(b.Activation, y), c.name("nn.lins.1"), c.out, c.out)
	})
}
