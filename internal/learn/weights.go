package learn

import (
	"errors"
	"fmt"
	"slices"

	"capgnn/gnn"
	"capgnn/graph"
)

// Weighted reports whether edges have weights.
func (p *Problem) Weighted() bool {
	if p.Shards != nil {
		return p.Shards.Weights != nil
	}
	return p.Values != nil || p.Graph != nil && p.Graph.Weights != nil
}

// weightSums returns the sums of the weights of all vertices.
func (p *Problem) weightSums() *graph.WeightSums {
	if p.Shards != nil {
		return p.Shards.Weights
	}
	return p.Graph.WeightSums()
}

// Weighs returns how many values entries have by Weigh.
func (p *Problem) Weighs() int {
	if !p.Weighted() {
		return 0
	}
	return max(1, len(p.Values))
}

// Weigh is graph.CSR.Weigh for a problem with weights, of whose shards those are here that have one end of each
// edge. Where edges have several values, those of all entries lie one kind after the other.
func (p *Problem) Weigh(dst []float32, indptr []int64, indices []graph.NodeID, row func(r int) graph.NodeID,
	col []graph.NodeID, turned bool) []float32 {
	if n := len(indices); p.Values != nil {
		dst = slices.Grow(dst[:0], n*len(p.Values))[:n*len(p.Values)]
		for k, values := range p.Values {
			g := *p.Graph
			g.Weights = values
			g.Weigh(dst[k*n:(k+1)*n], indptr, indices, row, col, turned)
		}
		return dst
	}
	if p.Graph != nil {
		return p.Graph.Weigh(dst, indptr, indices, row, col, turned)
	}
	return graph.Weigh(p.Shards.weight, dst, indptr, indices, row, col, turned)
}

// WeighAll is Weigh; where edges have no weights, all are 1.
func (p *Problem) WeighAll(dst []float32, indptr []int64, indices []graph.NodeID, row func(r int) graph.NodeID,
	col []graph.NodeID, turned bool) []float32 {
	if p.Weighted() {
		return p.Weigh(dst, indptr, indices, row, col, turned)
	}
	dst = resized(dst, len(indices))
	for e := range dst {
		dst[e] = 1
	}
	return dst
}

// weight is graph.CSR.Weight of an edge one of whose ends is a vertex of a shard here.
func (s *Shards) weight(u, v graph.NodeID) float32 {
	if h, at := s.own(v); h != nil {
		return h.In.Weight(h.column(s, u, h.IDs), graph.NodeID(at))
	}
	h, at := s.own(u)
	return h.outward().Weight(h.column(s, v, h.OutIDs), graph.NodeID(at))
}

// column returns which of ids a vertex is, −1: none.
func (h *Shard) column(s *Shards, v graph.NodeID, ids []graph.NodeID) graph.NodeID {
	if h.Parts.Has(int(s.PartOf[v])) {
		return s.place[v]
	}
	if k, has := slices.BinarySearch(ids[h.Own:], v); has {
		return graph.NodeID(h.Own + k)
	}
	return -1
}

// outward returns the rows of the transpose, with their weights.
func (h *Shard) outward() *graph.CSR {
	return &graph.CSR{Indptr: h.Out.Indptr, Indices: h.Out.Indices, Cols: h.Out.Cols, Weights: h.OutWeights}
}

// Scaling returns the scales of a model on a graph of these degrees, loops as the problem wants them. With edge
// weights symmetric models have the sums of these for degrees.
func (p *Problem) Scaling(m gnn.Config, in, out []int32) gnn.Scaling {
	if m.Symmetric() && p.Weighted() {
		in, out := p.weightSums().Degrees(p.Loops)
		return gnn.ScalingOf(m, in, out)
	}
	return gnn.ScalingOf(m, in, out)
}

// SuitsWeights says why a model cannot be trained with the edge weights of the problem: GAT and GATv2 have none,
// and symmetric models divide by the roots of the sums of weights into and out of every vertex, which may be 0 only
// where there is nothing to be summed.
func (p *Problem) SuitsWeights(m gnn.Config) error {
	switch {
	case !p.Weighted() || p.Values != nil:
		return nil
	case !m.ReadsWeights():
		return errors.New("the model does not take edge weights")
	case !m.Symmetric():
		return nil
	}
	if p.Shards == nil && !slices.ContainsFunc(p.Graph.Weights, func(w float32) bool { return w < 0 }) {
		return nil
	}
	sums := p.weightSums()
	in, out := sums.Degrees(p.Loops)
	for v := range in {
		inAny, outAny := sums.Weighs(p.Loops, v)
		for _, d := range []struct {
			sum float64
			any bool
			way string
		}{{in[v], inAny, "into"}, {out[v], outAny, "out of"}} {
			if d.any && !(d.sum > 0) {
				return fmt.Errorf("the model divides by the root of the sum of the weights %s a vertex, which is %g at vertex %d and must be positive", d.way, d.sum, v)
			}
		}
	}
	return nil
}
