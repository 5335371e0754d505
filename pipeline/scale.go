package pipeline

import (
	"capgnn/gnn"
	"capgnn/graph"
)

// scaling returns the edge weights of a model: those of the whole graph, whatever Options.Dropped leaves of it.
func (l *Layout) scaling(m gnn.Config) gnn.Scaling {
	return l.problem.Scaling(m, l.cut.InDegree, l.cut.OutDegree)
}

func ones(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

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

func factor(x []float32, i int32) float32 {
	if x == nil {
		return 1
	}
	return x[i]
}
