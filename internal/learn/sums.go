package learn

import (
	"fmt"
	"slices"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/model"
)

// For returns the problem as a model reads it: p itself, unless the model reads no neighbours, sums over them in several
// ways, or in one whose weights are no products of factors per vertex, or reads sparse features as rows. Then there are
// no edges, or those of all graphs of its program, with a value for each way; and features are dense.
func (p *Problem) For(m gnn.Config) (*Problem, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if !m.ReadsNeighbours() && p.Shards == nil && p.Graph.Edges() > 0 {
		q := *p
		q.Graph = &graph.CSR{Indptr: make([]int64, p.Vertices()+1), Cols: p.Graph.Cols}
		if q.GraphKey != "" {
			q.GraphKey += " no edges"
		}
		return q.For(m)
	}
	sums := m.Sums()
	if (sums == nil || p.Values != nil) && !(m.ReadsRows() && p.Features.Sparse()) {
		return p, nil
	}
	if err := p.SuitsWeights(m); err != nil {
		return nil, err
	}
	if p.Shards != nil {
		return nil, fmt.Errorf("the model sums over several graphs or weights of edges, or features as they are: of a data set in shards it cannot")
	}
	q := *p
	if m.ReadsRows() && p.Features.Sparse() {
		q.Features = p.Features.dense(p.Vertices())
	}
	if sums == nil || p.Values != nil {
		return &q, nil
	}
	c := &constants{p: m.Program, made: madeOf(p.Loops.Of(p.Graph), m.Program.Graphs), vertices: map[int][]float64{}}
	of := func(s gnn.Sum) weighed { return c.made[s.Graph] }
	q.Loops, q.Graph = graph.LoopsKept, of(sums[0]).unweighted()
	for _, s := range sums[1:] {
		q.Graph = graph.Union(q.Graph, of(s).unweighted())
	}
	for _, s := range sums {
		values, err := of(s).values(s, q.Graph, c)
		if err != nil {
			return nil, fmt.Errorf("the model %w", err)
		}
		q.Values = append(q.Values, values)
	}
	if q.GraphKey != "" {
		q.GraphKey = fmt.Sprint(q.GraphKey, " ", p.Loops, " ", m.Identity())
	}
	return &q, nil
}

// dense returns features of so many vertices, stored dense.
func (f *Features) dense(vertices int) Features {
	out := Features{Cols: f.Cols, Dense: make([]float32, vertices*f.Cols)}
	graph.EachBlock(vertices, gatherRows, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			f.Fill(out.Dense[v*f.Cols:][:f.Cols], graph.NodeID(v))
		}
	})
	return out
}

// weighed is a graph of a program: one structure with the weights of edges, and with their numbers.
type weighed struct{ weight, count *graph.CSR }

func (w weighed) unweighted() *graph.CSR {
	g := *w.count
	g.Weights = nil
	return &g
}

// madeOf returns the graphs that a program makes of one, by name.
func madeOf(g *graph.CSR, graphs []model.Graph) map[string]weighed {
	with := func(weights []float32) *graph.CSR {
		c := *g
		c.Weights = weights
		return &c
	}
	ones := make([]float32, len(g.Indices))
	for e := range ones {
		ones[e] = 1
	}
	first := weighed{with(g.Weights), with(ones)}
	if g.Weights == nil {
		first.weight = first.count
	}
	made := map[string]weighed{"": first}
	for _, how := range graphs {
		w := made[how.Of]
		made[how.Name] = weighed{changed(w.weight, how, float32(how.Weight)), changed(w.count, how, 1)}
	}
	return made
}

// changed returns what a program makes of a graph with weights, loops that it adds weighing so much.
func changed(g *graph.CSR, how model.Graph, loop float32) *graph.CSR {
	switch how.Do {
	case model.Reverse:
		return g.Transpose()
	case model.NoLoops:
		return g.WithoutLoops()
	case model.FullLoops, model.Loops:
		out := g.WithLoops()
		if out == g {
			c := *g
			out, c.Weights = &c, slices.Clone(g.Weights)
		}
		if out.Weights == nil { // of a graph without edges
			out.Weights = slices.Repeat([]float32{loop}, len(out.Indices))
		}
		for v := range out.Rows() {
			k, _ := slices.BinarySearch(out.Row(v), graph.NodeID(v))
			x := &out.Weights[out.Indptr[v]+int64(k)]
			switch _, had := slices.BinarySearch(g.Row(v), graph.NodeID(v)); {
			case !had:
				*x = loop
			case how.Do == model.Loops:
				*x += loop
			}
		}
		return out
	}
	return g
}
