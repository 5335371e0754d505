package minibatch

import (
	"context"

	"capgnn/graph"
	"capgnn/internal/learn"
)

// tables returns where the dense rows of layer 0 come from; none: features are sparse, and stay so.
func (t *Trainer) tables(ctx context.Context) ([]table, error) {
	f := &t.p.Features
	if t.design.sparse {
		return nil, nil
	}
	x := table{cols: f.Cols, data: f.Dense}
	if f.Sparse() {
		x.of = f
	}
	if !t.design.sums {
		return []table{x}, nil
	}
	sums, err := t.aggregated(ctx)
	if err != nil {
		return nil, err
	}
	ax := table{cols: f.Cols, data: sums}
	if t.o.Model.Kind == "gcn" {
		return []table{ax}, nil
	}
	return []table{ax, x}, nil
}

func (t *Trainer) aggregated(ctx context.Context) ([]float32, error) {
	f, g, n := &t.p.Features, t.p.Graph, t.p.Vertices()
	out := make([]float32, n*f.Cols)
	s := &t.design.scaling
	graph.EachBlock(n, 64, func(lo, hi int) {
		row := make([]float32, f.Cols)
		for v := lo; v < hi; v++ {
			add := func(u int32, w float32) {
				f.Fill(row, u)
				if s.Col != nil {
					w *= s.Col[u]
				}
				if s.Row != nil {
					w *= s.Row[v]
				}
				for j, x := range row {
					out[v*f.Cols+j] += w * x
				}
			}
			for _, u := range g.Row(v) {
				if u != int32(v) || t.p.Loops == graph.LoopsKept {
					add(u, 1)
				}
			}
			if t.p.Loops == graph.LoopsAdded {
				add(int32(v), 1)
			}
		}
	})
	return out, nil
}

func (t *Trainer) evaluate() (learn.Metrics, *float64, error) { return learn.Metrics{}, nil, nil }
