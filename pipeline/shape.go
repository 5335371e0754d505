package pipeline

import (
	"capgnn/gnn"
	"capgnn/graph"
)

// shape sums up what training computes for gnn.Choose; entries are the stored values of features.
func (l *Layout) shape(entries int64, sparse bool, model gnn.Config) gnn.Shape {
	layers := model.Layers
	s := gnn.Shape{Rows: make([]int64, layers+1), Edges: make([]int64, layers),
		Halo: make([]int64, layers), BackHalo: make([]int64, layers), Sparse: sparse}
	s.FeatureEntries = entries
	for _, p := range l.cut.Parts {
		for k, r := range p.Rows {
			s.Rows[k] += int64(r)
		}
	}
	var lost []int32 // in-edges that are dropped, by vertex: of parts without edges
	if l.cut.Own.Hi-l.cut.Own.Lo < len(l.cut.Parts) && l.kept != l.cut {
		lost = l.pruning.Lost(l.problem.Graph)
	}
	for layer := range layers {
		c := l.cuts().At(layer)
		for i, p := range c.Parts {
			switch {
			case c.Own.Has(i):
				s.Edges[layer] += edgesInto(p, p.Rows[layer+1])
			case c == l.cut:
				s.Edges[layer] += entriesOf(c, p.Inner[:p.Rows[layer+1]], nil)
			default:
				s.Edges[layer] += entriesOf(c, p.Inner[:p.Rows[layer+1]], lost)
			}
			s.Halo[layer] += int64(p.In.Exchanged(layer))
			s.BackHalo[layer] += int64(p.Out.Exchanged(layer))
		}
	}
	return s
}

// edgesInto returns the in-edges of the first rows of a part.
func edgesInto(p *graph.Part, rows int) int64 {
	n := p.In.Inner.Indptr[rows]
	for k, r := range p.In.Halo.List {
		if int(r) < rows {
			n += p.In.Halo.Indptr[k+1] - p.In.Halo.Indptr[k]
		}
	}
	return n
}

// entriesOf is edgesInto for vertices of a part whose edges the cut does not have. lost are those that are dropped, nil: none.
func entriesOf(c *graph.Cut, ids []graph.NodeID, lost []int32) int64 {
	n := int64(0)
	for _, v := range ids {
		if n += int64(c.InDegree[v]); lost != nil {
			n -= int64(lost[v])
		}
	}
	return n
}
