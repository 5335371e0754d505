package learn

import (
	"fmt"
	"math"
	"slices"

	"capgnn/gnn"
)

// Weighted reports whether edges have weights.
func (p *Problem) Weighted() bool { return p.Graph != nil && p.Graph.Weights != nil }

// Scaling returns the scales of a model on a graph of these degrees, loops as the problem wants them. With edge weights symmetric models have the sums of these for degrees.
func (p *Problem) Scaling(kind gnn.Kind, in, out []int32) gnn.Scaling {
	if kind.Symmetric() && p.Weighted() {
		in, out := p.Loops.WeightedDegrees(p.Graph)
		return gnn.ScalingOf(kind, in, out)
	}
	return gnn.ScalingOf(kind, in, out)
}

// SuitsWeights says why a model cannot be trained with the edge weights of the problem: GAT and GATv2 have none, and symmetric models divide by the roots of the sums of weights into and
// out of every vertex, which may be 0 only where there is nothing to be summed.
func (p *Problem) SuitsWeights(kind gnn.Kind) error {
	switch {
	case !p.Weighted():
		return nil
	case kind.Attends():
		return fmt.Errorf("%s does not take edge weights", kind)
	case !kind.Symmetric():
		return nil
	}
	if !slices.ContainsFunc(p.Graph.Weights, func(w float32) bool { return w < 0 }) {
		return nil
	}
	in, out := p.Loops.WeightedDegrees(p.Graph)
	size := *p.Graph
	size.Weights = make([]float32, len(p.Graph.Weights))
	for e, w := range p.Graph.Weights {
		size.Weights[e] = float32(math.Abs(float64(w)))
	}
	inSize, outSize := p.Loops.WeightedDegrees(&size)
	for v := range in {
		for _, d := range []struct {
			sum, size float64
			way       string
		}{{in[v], inSize[v], "into"}, {out[v], outSize[v], "out of"}} {
			if d.size > 0 && !(d.sum > 0) {
				return fmt.Errorf("%s divides by the root of the sum of the weights %s a vertex, which is %g at vertex %d and must be positive", kind, d.way, d.sum, v)
			}
		}
	}
	return nil
}
