package model

// SGC is Z = Â^K·X·Wᵀ + b (Wu et al., ICML 2019).
func SGC(a Arguments) (*Program, error) {
	b := newBuilder(a)
	w := b.constant(Sym, 0)
	h := b.op(Linear, b.x, b.param("lin.weight", b.Out, b.In))
	for range b.Layers {
		h = b.propagate(h, w)
	}
	return b.finish(b.op(Add, h, b.param("lin.bias", b.Out)))
}
