package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Weight returns the weight of the edge u → v: 1 in a graph without weights, and if there is no such edge, as for an
// added self-loop.
func (g *CSR) Weight(u, v NodeID) float32 {
	if g.Weights != nil {
		if k, has := slices.BinarySearch(g.Row(int(v)), u); has {
			return g.Weights[g.Indptr[v]+int64(k)]
		}
	}
	return 1
}

// Weigh returns, in dst's place if it is large enough, the weights of the entries of a matrix that is made of edges of g and of loops: entry (r, c) is the edge from
// vertex col[c] to vertex row(r), or, if turned, from row(r) to col[c]. nil where g has no weights.
func (g *CSR) Weigh(dst []float32, indptr []int64, indices []NodeID, row func(r int) NodeID, col []NodeID, turned bool) []float32 {
	if g.Weights == nil {
		return nil
	}
	return Weigh(g.Weight, dst, indptr, indices, row, col, turned)
}

// Weigh is CSR.Weigh for edges whose weights weight returns, which several goroutines call.
func Weigh(weight func(u, v NodeID) float32, dst []float32, indptr []int64, indices []NodeID, row func(r int) NodeID, col []NodeID, turned bool) []float32 {
	if cap(dst) < len(indices) {
		dst = make([]float32, len(indices))
	}
	out := dst[:len(indices)]
	EachBlock(len(indptr)-1, rowBlock, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			v := row(r)
			for e := indptr[r]; e < indptr[r+1]; e++ {
				if u := col[indices[e]]; turned {
					out[e] = weight(v, u)
				} else {
					out[e] = weight(u, v)
				}
			}
		}
	})
	return out
}

// validateWeights reports the first weight that is not finite.
func (g *CSR) validateWeights() error {
	if g.Weights == nil {
		return nil
	}
	if len(g.Weights) != len(g.Indices) {
		return fmt.Errorf("%d weights for %d edges", len(g.Weights), len(g.Indices))
	}
	for e, w := range g.Weights {
		if x := float64(w); math.IsNaN(x) || math.IsInf(x, 0) {
			v, _ := slices.BinarySearch(g.Indptr, int64(e)+1)
			return fmt.Errorf("the edge %d → %d has the weight %g; weights must be finite", g.Indices[e], v-1, w)
		}
	}
	return nil
}

// sortedWeighted is sorted for a graph with weights: those of repeats are added up, in the order in which they stand.
func (g *CSR) sortedWeighted() *CSR {
	n := g.Rows()
	out := &CSR{Indptr: make([]int64, n+1), Indices: make([]NodeID, len(g.Indices)), Weights: make([]float32, len(g.Indices)), Cols: g.Cols}
	EachBlock(n, rowBlock, func(lo, hi int) {
		var order []int64
		for v := lo; v < hi; v++ {
			begin := g.Indptr[v]
			order = order[:0]
			for e := begin; e < g.Indptr[v+1]; e++ {
				order = append(order, e)
			}
			slices.SortStableFunc(order, func(a, b int64) int { return cmp.Compare(g.Indices[a], g.Indices[b]) })
			k := begin
			for i, e := range order {
				if i > 0 && g.Indices[e] == out.Indices[k-1] {
					out.Weights[k-1] += g.Weights[e]
					continue
				}
				out.Indices[k], out.Weights[k] = g.Indices[e], g.Weights[e]
				k++
			}
			out.Indptr[v+1] = k - begin
		}
	})
	accumulate(out.Indptr)
	for v := range n {
		copy(out.Indices[out.Indptr[v]:out.Indptr[v+1]], out.Indices[g.Indptr[v]:])
		copy(out.Weights[out.Indptr[v]:out.Indptr[v+1]], out.Weights[g.Indptr[v]:])
	}
	m := out.Indptr[n]
	out.Indices, out.Weights = out.Indices[:m:m], out.Weights[:m:m]
	return out
}

// uniteWeights gives the union of a and b its weights: those of a where it has the edge, else those of b.
func (g *CSR) uniteWeights(a, b *CSR) {
	if a.Weights == nil {
		return
	}
	g.Weights = make([]float32, len(g.Indices))
	EachBlock(g.Rows(), rowBlock, func(lo, hi int) {
		for v := lo; v < hi; v++ {
			i, j := a.Indptr[v], b.Indptr[v]
			for e := g.Indptr[v]; e < g.Indptr[v+1]; e++ {
				inA := i < a.Indptr[v+1] && a.Indices[i] == g.Indices[e]
				inB := j < b.Indptr[v+1] && b.Indices[j] == g.Indices[e]
				if inA {
					g.Weights[e] = a.Weights[i]
					i++
				} else {
					g.Weights[e] = b.Weights[j]
				}
				if inB {
					j++
				}
			}
		}
	})
}
