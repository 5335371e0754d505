package model

// SAGE is GraphSAGE with means: Z = mean(H)·W_lᵀ + b + H·W_rᵀ (Hamilton et al., NeurIPS 2017).
func SAGE(a Arguments) (*Program, error) {
	b := newBuilder(a)
	mean := b.mean()
	return stack(b, func(h string, c layer) string {
		y := b.linear(mean(h), c.name("lin_l"), c.out, c.in)
		return b.op(Add, y, b.op(Linear, h, b.param(c.name("lin_r.weight"), c.out, c.in)))
	})
}
