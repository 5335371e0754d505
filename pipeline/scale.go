package pipeline

import (
	"math"

	"capgnn/gnn"
	"capgnn/graph"
)

// scaling is the weight of every edge of a model, as a product of a row and a column factor per vertex: entry (v, u)
// weighs row[v]·col[u]; nil means all ones. Degrees are those of the whole graph (docs/mathematics.md).
type scaling struct {
	row, col []float32
	loop     []float32 // what entry (v, v) weighs besides
}

// weighting is the scaling of the whole graph, and of what Options.Dropped leaves of it.
type weighting struct{ whole, kept scaling }

// weightingOf returns the edge weights of a model on a layout.
func weightingOf(kind gnn.Kind, l *Layout, rescale bool) weighting {
	s := scalingOf(kind, l.cut.InDegree, l.cut.OutDegree)
	w := weighting{s, s}
	if rescale && kind != gnn.GAT && l.kept != l.cut {
		w.kept = s.rescaled(l)
	}
	return w
}

// rescaled returns s with row v times n/k, where the vertex has n in-edges in the whole graph and k are kept, loops not
// counted: what is left of the sum over neighbours stands for all of it. The entry (v, v) keeps its weight. Rows without a
// neighbour left have no such sum and stay as they are (docs/mathematics.md).
func (s scaling) rescaled(l *Layout) scaling {
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
			copy(row, s.row)
		}
		old := row[v]
		row[v] = float32(float64(old) * float64(n) / float64(n-lost))
		if hasLoop {
			if loop == nil {
				loop = ones(len(row))
			}
			loop[v] = float32(float64(old) / float64(row[v]))
		}
	}
	if row == nil {
		return s
	}
	return scaling{row, s.col, loop}
}

func ones(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// scalingOf returns the edge weights of kind on a graph of these degrees: GCN D_in^-1/2 and D_out^-1/2 (0 where the degree is
// 0), GraphSAGE 1/in-degree, none for GIN and GAT.
func scalingOf(kind gnn.Kind, in, out []int32) scaling {
	switch kind {
	case gnn.GCN:
		return scaling{row: degrees(in, invSqrt), col: degrees(out, invSqrt)}
	case gnn.SAGE:
		return scaling{row: degrees(in, func(d float64) float64 { return 1 / d })}
	}
	return scaling{}
}

func invSqrt(d float64) float64 { return 1 / math.Sqrt(d) }

func degrees(d []int32, f func(float64) float64) []float32 {
	out := make([]float32, len(d))
	for v, k := range d {
		if k > 0 {
			out[v] = float32(f(float64(k)))
		}
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

// edgeValues returns row[r]·col[c] for every entry of c, times loop[r] where it is (r, r). row, col and loop are indexed like
// c's rows and columns.
func edgeValues(c *graph.CSR, row, col, loop []float32) []float32 {
	val := make([]float32, len(c.Indices))
	for r := range c.Rows() {
		for e := c.Indptr[r]; e < c.Indptr[r+1]; e++ {
			val[e] = factor(row, int32(r)) * factor(col, c.Indices[e])
			if c.Indices[e] == int32(r) {
				val[e] *= factor(loop, int32(r))
			}
		}
	}
	return val
}

// haloValues is edgeValues for the halo part of a block.
func haloValues(h *graph.HaloRows, row, col []float32) []float32 {
	val := make([]float32, len(h.Indices))
	for k, r := range h.List {
		for e := h.Indptr[k]; e < h.Indptr[k+1]; e++ {
			val[e] = factor(row, r) * factor(col, h.Indices[e])
		}
	}
	return val
}
