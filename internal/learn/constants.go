package learn

import (
	"fmt"
	"math"
	"slices"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/model"
)

// constants are values that a program makes of its graphs alone (model.Program.Constants).
type constants struct {
	p        *model.Program
	made     map[string]weighed // its graphs
	vertices map[int][]float64  // constants of vertices, by node
}

// of returns a constant of vertices.
func (c *constants) of(i int) []float64 {
	if c.vertices[i] == nil {
		degrees := map[*model.Node][]float64{}
		out := make([]float64, c.made[""].count.Rows())
		for v := range out {
			out[v] = c.p.Constant(i, func(n *model.Node) float64 {
				if degrees[n] == nil {
					degrees[n] = c.degrees(n)
				}
				return degrees[n][v]
			})
		}
		c.vertices[i] = out
	}
	return c.vertices[i]
}

// degrees returns what a constant of vertices is that no others make.
func (c *constants) degrees(n *model.Node) []float64 {
	in, out := sumsOf(c.made[n.Graph].count)
	switch n.What {
	case model.OutDegree:
		return out
	case model.InCount:
		for v := range in {
			in[v] = max(in[v], 1)
		}
	}
	return in
}

// sumsOf returns the sums of weights into and out of every vertex.
func sumsOf(g *graph.CSR) (in, out []float64) {
	in, out = make([]float64, g.Rows()), make([]float64, g.Rows())
	for v := range in {
		for k, u := range g.Row(v) {
			x := float64(g.Weights[g.Indptr[v]+int64(k)])
			in[v] += x
			out[u] += x
		}
	}
	return in, out
}

// values returns what edges of a graph weigh in a sum over neighbours in w, 0 where w has them not.
func (w weighed) values(s gnn.Sum, all *graph.CSR, c *constants) (values []float32, err error) {
	in, out := sumsOf(w.weight)
	count, _ := sumsOf(w.count)
	node, degree := 0, 1
	if s.Node != "" {
		node = c.p.Index(s.Node)
		degree = c.p.Constants()[node]
	}
	values = make([]float32, len(all.Indices))
	for v := range all.Rows() {
		row := all.Row(v)
		for k, u := range w.weight.Row(v) {
			at := w.weight.Indptr[v] + int64(k)
			weigh := func(what string) float64 {
				x, from := float64(w.weight.Weights[at]), out
				switch what {
				case "":
					return float64(w.count.Weights[at])
				case model.EdgeWeight:
					return x
				case model.GCNNorm:
					from = in
				}
				if in[v] < 0 || from[u] < 0 {
					err = fmt.Errorf("divides by the root of the sums of weights of vertices, one of which is below 0 at vertex %d or %d", v, u)
				}
				if in[v] == 0 || from[u] == 0 {
					return 0
				}
				return x / math.Sqrt(in[v]*from[u])
			}
			x := weigh(s.What)
			if s.Node != "" {
				x = c.p.Constant(node, func(n *model.Node) float64 {
					switch {
					case n.Op == model.Src:
						return c.of(n.In[0])[u]
					case n.Op == model.Dst:
						return c.of(n.In[0])[v]
					case n.What == model.Loop && v != int(u):
						return 0
					case n.What == model.Loop:
						return 1
					}
					return weigh(n.What)
				})
				if degree == 0 { // one for each of parallel edges
					x *= weigh("")
				}
			}
			if s.Mean {
				x /= max(1, count[v])
			}
			i, _ := slices.BinarySearch(row, u)
			values[all.Indptr[v]+int64(i)] = float32(x)
		}
	}
	return values, err
}
