package pipeline

import (
	"math"

	"capgnn/gnn"
	"capgnn/graph"
)

// scaling is the weight of every edge of a model, as a product of a row and a column factor per vertex: entry (v, u)
// weighs row[v]·col[u]. nil means all ones. Degrees are those of the whole graph (DESIGN.md 3).
type scaling struct{ row, col []float32 }

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

// edgeValues returns row[r]·col[c] for every entry of c, where row and col are indexed like c's rows and columns.
func edgeValues(c *graph.CSR, row, col []float32) []float32 {
	val := make([]float32, len(c.Indices))
	for r := range c.Rows() {
		for e := c.Indptr[r]; e < c.Indptr[r+1]; e++ {
			val[e] = factor(row, int32(r)) * factor(col, c.Indices[e])
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
