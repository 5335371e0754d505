package model

// GCN is Z = Â·H·Wᵀ + b (Kipf and Welling, ICLR 2017).
func GCN(a Arguments) (*Program, error) {
	b := newBuilder(a)
	w := b.constant(Sym, 0)
	return stack(b, func(h string, c layer) string {
		t := b.op(Linear, h, b.param(c.name("lin.weight"), c.out, c.in))
		return b.op(Add, b.propagate(t, w), b.param(c.name("bias"), c.out))
	})
}
