package model

import "math"

// GPRGNN is Σ γ_k·Â^k·H⁰, k from 0 to K, with H⁰ = lin2(dropout(f(lin1(dropout(X))))) and weights γ that begin as
// those of PageRank, α(1−α)^k and (1−α)^K (Chien et al., ICLR 2021).
func GPRGNN(a Arguments) (*Program, error) {
	b := newBuilder(a)
	w, temp := b.constant(GCNNorm, 0), b.param("temp", b.Layers+1)
	start := make([]float64, b.Layers+1)
	gamma := func(k int, x string) string {
		if start[k] = math.Pow(1-b.Alpha, float64(k)); k < b.Layers {
			start[k] *= b.Alpha
		}
		g := b.with(Slice, func(n *Node) { n.Axis, n.Lo, n.Hi = 0, k, k+1 }, temp)
		return b.op(Mul, x, b.reshape(g))
	}
	y := b.linear(b.drop(b.x, FeatureCounter), "lin1", b.Hidden, b.In)
	h := b.linear(b.drop(b.op(b.Activation, y), OriginCounter), "lin2", b.Out, b.Hidden)
	sum := gamma(0, h)
	for k := range b.Layers {
		h = b.propagate(h, w)
		sum = b.op(Add, sum, gamma(k+1, h))
	}
	b.start = map[string][]float64{temp: start}
	return b.finish(sum)
}
