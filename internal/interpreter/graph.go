package interpreter

import (
	"math"

	"capgnn/model"
)

// Graph is a graph edge by edge: edge e leads from Src[e] to Dst[e] and weighs Weight[e], or 1 where Weight is nil.
type Graph struct {
	Vertices int
	Src, Dst []int
	Weight   []float64
}

// made returns the graph that a program makes of one, with weights.
func (g Graph) made(how model.Graph) Graph {
	out := Graph{Vertices: g.Vertices}
	add := func(s, d int, w float64) {
		out.Src, out.Dst, out.Weight = append(out.Src, s), append(out.Dst, d), append(out.Weight, w)
	}
	loop := make([]float64, g.Vertices)
	for v := range loop {
		loop[v] = how.Weight
	}
	for e, s := range g.Src {
		d, w := g.Dst[e], g.weight(e)
		switch {
		case how.Do == model.Reverse:
			add(d, s, w)
		case s != d || how.Do == model.Loops || how.Do == "":
			add(s, d, w)
		case how.Do == model.FullLoops:
			loop[s] = w
		}
	}
	if how.Do == model.FullLoops || how.Do == model.Loops {
		for v, w := range loop {
			add(v, v, w)
		}
	}
	return out
}

func (g Graph) weight(e int) float64 {
	if g.Weight == nil {
		return 1
	}
	return g.Weight[e]
}

// Constant returns what a Const node is, for every vertex or edge, or one number.
func (g Graph) Constant(n *model.Node) []float64 {
	in, out := make([]float64, g.Vertices), make([]float64, g.Vertices) // sums of weights, or numbers of edges
	edges := n.Space.Graph() != ""
	for e, s := range g.Src {
		w := 1.0
		if edges {
			w = g.weight(e)
		}
		in[g.Dst[e]] += w
		out[s] += w
	}
	of := func(f func(e int) float64) []float64 {
		v := make([]float64, len(g.Src))
		for e := range v {
			v[e] = f(e)
		}
		return v
	}
	root := func(d float64) float64 {
		if d > 0 {
			return 1 / math.Sqrt(d)
		}
		return 0
	}
	switch n.What {
	case model.Number:
		return []float64{n.Value}
	case model.VertexNum:
		return []float64{float64(g.Vertices)}
	case model.EdgeWeight:
		return of(g.weight)
	case model.Loop:
		return of(func(e int) float64 { return map[bool]float64{true: 1}[g.Src[e] == g.Dst[e]] })
	case model.GCNNorm:
		return of(func(e int) float64 { return g.weight(e) * root(in[g.Dst[e]]) * root(in[g.Src[e]]) })
	case model.Sym:
		return of(func(e int) float64 { return g.weight(e) * root(in[g.Dst[e]]) * root(out[g.Src[e]]) })
	case model.OutDegree:
		return out
	case model.InCount:
		for v := range in {
			in[v] = max(in[v], 1)
		}
	}
	return in
}
