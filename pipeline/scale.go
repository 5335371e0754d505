package pipeline

import (
	"slices"

	"capgnn/gnn"
	"capgnn/graph"
)

// weighting is the scaling of the whole graph, and of what Options.Dropped leaves of it.
type weighting struct{ whole, kept gnn.Scaling }

// weightingOf returns the edge weights of a model on a layout.
func weightingOf(kind gnn.Kind, l *Layout, rescale bool) weighting {
	s := l.problem.Scaling(kind, l.cut.InDegree, l.cut.OutDegree)
	w := weighting{s, s}
	if rescale && kind.Rescales() && l.kept != l.cut {
		w.kept = rescaled(s, l)
	}
	return w
}

// rescaled returns s with the rows of vertices that lost in-edges as gnn.Rescale has them. Rows without a neighbour left have no
// sum that could stand for all of it, and stay as they are (docs/mathematics.md).
func rescaled(s gnn.Scaling, l *Layout) gnn.Scaling {
	var row, loop []float32
	for v, lost := range l.pruning.Lost(l.problem.Graph) {
		if lost == 0 {
			continue
		}
		hasLoop := l.problem.Loops.Has(l.problem.Graph, graph.NodeID(v))
		n := l.cut.InDegree[v]
		if hasLoop {
			n--
		}
		if n == lost {
			continue
		}
		if row == nil {
			row = ones(len(l.cut.PartOf))
			copy(row, s.Row)
		}
		var own float32
		row[v], own = gnn.Rescale(row[v], n, n-lost)
		if hasLoop {
			if loop == nil {
				loop = ones(len(row))
			}
			loop[v] = own
		}
	}
	if row == nil {
		return s
	}
	return gnn.Scaling{Row: row, Col: s.Col, Loop: loop}
}

func ones(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// pick returns x at the given vertices, nil for nil.
func pick(x []float32, ids []graph.NodeID) []float32 {
	if x == nil {
		return nil
	}
	out := make([]float32, len(ids))
	for i, v := range ids {
		out[i] = x[v]
	}
	return out
}

// factor returns x[i], 1 for nil.
func factor(x []float32, i int32) float32 {
	if x == nil {
		return 1
	}
	return x[i]
}

// edgeValues returns weight[e] for every entry of c, times loop[r] where it is (r, r); nil: 1. loop is indexed like c's rows, weight like its entries.
func edgeValues(c *graph.CSR, weight, loop []float32) []float32 {
	val := slices.Clone(weight)
	if weight == nil {
		val = ones(len(c.Indices))
	}
	for r := range c.Rows() {
		for e := c.Indptr[r]; e < c.Indptr[r+1]; e++ {
			if c.Indices[e] == int32(r) {
				val[e] *= factor(loop, int32(r))
			}
		}
	}
	return val
}
