package model

// APPNP is H^ℓ = (1−α)·Â·H^{ℓ−1} + α·H⁰ with H⁰ = lin2(dropout(f(lin1(dropout(X))))) (Gasteiger et al., ICLR 2019).
func APPNP(a Arguments) (*Program, error) {
	b := newBuilder(a)
	w := b.constant(Sym, 0)
	y := b.linear(b.drop(b.x, FeatureCounter), "lin1", b.Hidden, b.In)
	first := b.linear(b.drop(b.op(b.Activation, y), OriginCounter), "lin2", b.Out, b.Hidden)
	h := first
	for range b.Layers {
		h = b.sum(1-b.Alpha, b.propagate(h, w), b.Alpha, first)
	}
	return b.finish(h)
}
