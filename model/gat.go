package model

// slope is that of the LeakyReLU of attention.
const slope = 0.2

// GAT is graph attention (Veličković et al., ICLR 2018): per head Z_v = Σ_u α_uv·T_u + b with T = H·Wᵀ, α a softmax
// over in-edges of LeakyReLU(⟨a_src, T_u⟩ + ⟨a_dst, T_v⟩). Heads lie side by side; where they make the logits, their
// mean is taken.
func GAT(a Arguments) (*Program, error) {
	b := newBuilder(a)
	return stack(b, func(h string, c layer) string {
		head := b.head(c)
		t := b.reshape(b.op(Linear, h, b.param(c.name("lin.weight"), b.Heads*head, c.in)), b.Heads, head)
		score := func(name string) string {
			att := b.reshape(b.param(c.name(name), 1, b.Heads, head), b.Heads, head)
			return b.fold(b.op(Mul, t, att), FoldSum, 1)
		}
		s, d := score("att_src"), score("att_dst")
		e := b.leaky(b.op(Add, b.op(Src, s), b.op(Dst, d)))
		return b.attend(e, b.op(Src, t), c, b.param(c.name("bias"), c.out))
	})
}

// head returns the columns of a head.
func (b *builder) head(c layer) int {
	if c.last {
		return c.out
	}
	return c.out / max(b.Heads, 1)
}

func (b *builder) leaky(x string) string {
	return b.with(LeakyReLU, func(n *Node) { n.Slope = slope }, x)
}

// attend appends Σ α·t + bias, α the softmax of scores by head, of which dropout may leave a part.
func (b *builder) attend(scores, t string, c layer, bias string) string {
	alpha := b.op(SoftmaxIn, scores)
	if b.AttentionDropout > 0 {
		alpha = b.with(Dropout, func(n *Node) { n.P, n.Counter = b.AttentionDropout, EdgeCounter+c.l }, alpha)
	}
	alpha = b.reshape(alpha, b.Heads, 1)
	o := b.op(SumIn, b.op(Mul, alpha, t))
	if c.last {
		o = b.fold(o, FoldMean, 0)
	} else {
		o = b.reshape(o, c.out)
	}
	return b.op(Add, o, bias)
}
