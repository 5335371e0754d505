package pipeline

import (
	"errors"
	"fmt"

	"capgnn/gnn"
	"capgnn/graph"
)

// Vertices returns the number of vertices.
func (p *Problem) Vertices() int { return p.Graph.Rows() }

// Validate reports what is inconsistent in a problem.
func (p *Problem) Validate() error {
	n := p.Vertices()
	errs := []error{p.validateInput()}
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if (p.Labels == nil) == (p.Targets == nil) {
		bad("need labels or targets, and not both")
	}
	if p.Labels != nil && len(p.Labels) != n {
		bad("%d labels for %d vertices", len(p.Labels), n)
	}
	if p.Targets != nil && len(p.Targets) != n*p.Classes {
		bad("%d targets, want %d vertices × %d labels", len(p.Targets), n, p.Classes)
	}
	for v, y := range p.Labels {
		if y < -1 || int(y) >= p.Classes {
			bad("vertex %d: label %d is outside [-1, %d)", v, y, p.Classes)
			break
		}
	}
	for _, m := range []struct {
		name string
		mask []bool
	}{{"train", p.Train}, {"val", p.Val}, {"test", p.Test}} {
		if m.mask != nil && len(m.mask) != n {
			bad("%s mask has %d entries for %d vertices", m.name, len(m.mask), n)
		}
	}
	if errors.Join(errs...) == nil && p.trainingVertices() == 0 {
		bad("no vertex to train on: the training mask is empty or all its vertices are unlabelled")
	}
	return errors.Join(errs...)
}

// validateInput reports what is inconsistent in graph and features, which is all that a prediction reads.
func (p *Problem) validateInput() error {
	n := p.Vertices()
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if p.Graph.Cols != n {
		bad("graph has %d rows and %d columns", n, p.Graph.Cols)
	}
	f := &p.Features
	switch {
	case f.Cols < 1:
		bad("features have %d columns", f.Cols)
	case f.Sparse():
		if len(f.Indptr) != n+1 || len(f.Indices) != len(f.Data) {
			bad("sparse features: %d row pointers for %d vertices, %d indices, %d values", len(f.Indptr), n, len(f.Indices), len(f.Data))
		}
	case len(f.Dense) != n*f.Cols:
		bad("features: %d values, want %d vertices × %d", len(f.Dense), n, f.Cols)
	}
	return errors.Join(errs...)
}

// answers returns the problem without what devices hold once it is placed: edges and features.
func (p *Problem) answers() *Problem {
	q := *p
	q.Graph = &graph.CSR{Indptr: make([]int64, p.Vertices()+1), Cols: p.Vertices()}
	q.Features = Features{Cols: p.Features.Cols}
	return &q
}

// trains reports whether vertex v contributes to the loss.
func (p *Problem) trains(v graph.NodeID) bool {
	return p.Train != nil && p.Train[v] && (p.Labels == nil || p.Labels[v] >= 0)
}

func (p *Problem) trainingVertices() int {
	n := 0
	for v := range p.Vertices() {
		if p.trains(graph.NodeID(v)) {
			n++
		}
	}
	return n
}

// lossTerms is what the loss is the mean over: training vertices, times labels for multi-label problems.
func (p *Problem) lossTerms() int {
	n := p.trainingVertices()
	if p.Targets != nil {
		n *= p.Classes
	}
	return n
}

// fill writes row v of the features, dense, to dst.
func (f *Features) fill(dst []float32, v graph.NodeID) {
	if !f.Sparse() {
		copy(dst, f.Dense[int(v)*f.Cols:][:f.Cols])
		return
	}
	clear(dst)
	for e := f.Indptr[v]; e < f.Indptr[v+1]; e++ {
		dst[f.Indices[e]] += f.Data[e]
	}
}

// lying returns dense rows of consecutive vertices where they lie, nil if they do not lie so.
func (f *Features) lying(ids []graph.NodeID) []float32 {
	if f.Sparse() || len(ids) == 0 {
		return nil
	}
	for i, v := range ids {
		if v != ids[0]+graph.NodeID(i) {
			return nil
		}
	}
	return f.Dense[int(ids[0])*f.Cols:][:len(ids)*f.Cols]
}

// shape sums up what training computes for gnn.Choose.
func (l *Layout) shape(f *Features, sparse bool, model gnn.Config) gnn.Shape {
	layers := model.Layers
	s := gnn.Shape{Rows: make([]int64, layers+1), Edges: make([]int64, layers),
		Halo: make([]int64, layers), BackHalo: make([]int64, layers), Sparse: sparse}
	s.FeatureEntries = int64(len(f.Dense) + len(f.Data))
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
