package model

// DirGNN is GraphSAGE over in-edges and over out-edges, half of each: Z = ½·(mean_in(H)·W_inᵀ + b_in) +
// ½·(mean_out(H)·W_outᵀ + b_out) + H·Wᵀ + b (Rossi et al., LoG 2023).
func DirGNN(a Arguments) (*Program, error) {
	b := newBuilder(a)
	into := b.mean()
	b.over("r", Reverse)
	out := b.mean()
	return stack(b, func(h string, c layer) string {
		z := b.linear(h, c.name("lin"), c.out, c.in)
		z = b.sum(1, z, 0.5, b.linear(into(h), c.name("conv_in.lin_l"), c.out, c.in))
		return b.sum(1, z, 0.5, b.linear(out(h), c.name("conv_out.lin_l"), c.out, c.in))
	})
}
