package model

import "fmt"

// MixHop has convolutions that put H·W₀ᵀ, Â·H·W₁ᵀ and Â²·H·W₂ᵀ side by side, of --hidden columns each, and a Linear
// behind the last (Abu-El-Haija et al., ICML 2019). Products come before sums, so that these are narrow.
func MixHop(a Arguments) (*Program, error) {
	b := newBuilder(a)
	w, h, in := b.constant(GCNNorm, 0), b.x, b.In
	if b.DropFeatures {
		h = b.drop(h, FeatureCounter)
	}
	for l := range b.Layers {
		c := layer{l: l, in: in, out: 3 * b.Hidden}
		bias := b.param(c.name("bias"), c.out)
		var powers []string
		for k := range 3 {
			y := b.op(Linear, h, b.param(c.name(fmt.Sprintf("lins.%d.weight", k)), b.Hidden, in))
			for range k {
				y = b.propagate(y, w)
			}
			powers = append(powers, y)
		}
		h, in = b.between(b.op(Add, b.op(Concat, powers...), bias), h, c), c.out
	}
	return b.finish(b.linear(h, "lin", b.Out, in))
}
