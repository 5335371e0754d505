package model

// GATv2 is graph attention whose scores are ⟨a, LeakyReLU(T_u + R_v)⟩ with T = H·W_lᵀ + b_l, R = H·W_rᵀ + b_r (Brody
// et al., ICLR 2022).
func GATv2(a Arguments) (*Program, error) {
	b := newBuilder(a)
	return stack(b, func(h string, c layer) string {
		head := b.head(c)
		att, bias := b.param(c.name("att"), 1, b.Heads, head), b.param(c.name("bias"), c.out)
		t := b.reshape(b.linear(h, c.name("lin_l"), b.Heads*head, c.in), b.Heads, head)
		r := b.reshape(b.linear(h, c.name("lin_r"), b.Heads*head, c.in), b.Heads, head)
		far := b.op(Src, t)
		y := b.op(Mul, b.leaky(b.op(Add, far, b.op(Dst, r))), b.reshape(att, b.Heads, head))
		return b.attend(b.fold(y, FoldSum, 1), far, c, bias)
	})
}
