package model

import (
	"fmt"
	"math"
)

// GCNII is H^ℓ = f(S·((1−β)·I + β·W)) with S = (1−α)·Â·dropout(H^{ℓ−1}) + α·H⁰, β = log(θ/ℓ + 1), H⁰ =
// f(lins.0(dropout(X))), and a Linear behind the last layer (Chen et al., ICML 2020).
func GCNII(a Arguments) (*Program, error) {
	b := newBuilder(a)
	w := b.constant(Sym, 0)
	first := b.op(b.Activation, b.linear(b.drop(b.x, FeatureCounter), "lins.0", b.Hidden, b.In))
	h := b.drop(first, OriginCounter)
	for l := range b.Layers {
		beta := math.Log(b.Theta/float64(l+1) + 1)
		s := b.sum(1-b.Alpha, b.propagate(h, w), b.Alpha, first)
		weight := b.param(fmt.Sprintf("convs.%d.weight1", l), b.Hidden, b.Hidden)
		y := b.with(Product, func(n *Node) { n.Spec = "ni,ij->nj" }, s, weight)
		h = b.drop(b.op(b.Activation, b.sum(1-beta, s, beta, y)), l)
	}
	return b.finish(b.linear(h, "lins.1", b.Out, b.Hidden))
}
