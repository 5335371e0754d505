package learn

import (
	"errors"
	"fmt"
	"iter"

	"capgnn/graph"
)

// Problem is what a run learns: a graph with features, labels and splits. All slices are read-only and indexed by
// original vertex id.
type Problem struct {
	Graph    *graph.CSR  // in-neighbours
	Loops    graph.Loops // what the model wants to become of the graph's self-loops; 0: nothing
	Features Features
	Labels   []int32 // class per vertex, -1 = unlabelled; nil for multi-label problems
	Targets  []uint8 // vertices × classes, 0 or 1; nil for single-label problems
	Classes  int
	// PositiveFirst says that of two classes class 0 is the positive one of the metrics by rank; else class 1 is.
	PositiveFirst bool
	Train         []bool // at least one true
	Val           []bool // may be nil or empty: no validation
	Test          []bool // may be nil or empty
	// GraphKey and FeaturesKey identify the contents of Graph and Features over runs (a hash); "": nothing
	// that is made of them is kept for later runs.
	GraphKey, FeaturesKey string
	// Shards has what is not here of a problem that is kept in shards: features, of which Indptr alone may be here, and masks, which are true for vertices of this process
	// alone; and, unless WithGraph has brought them, Graph is nil and Labels or Targets are empty. nil: the problem is whole.
	Shards *Shards
	// Values are, for a model that sums over neighbours in several ways, what the edges of Graph weigh in each, 0 in one that has them not (For); nil: Graph has the
	// weights of edges.
	Values [][]float32
	Files  Files // what is mapped of graph and features, shards apart; nil: nothing
}

// Files are what is mapped of a problem.
type Files interface {
	Rest()          // takes them out of the process's memory until they are read again
	ByRows(on bool) // whether they are read by rows, here and there, from now on, or in order
}

// ByRows says whether mapped graph and features are read by rows, here and there, from now on, or in order, as they are at first.
func (p *Problem) ByRows(on bool) {
	if p.Files != nil {
		p.Files.ByRows(on)
	}
	if p.Shards != nil {
		p.Shards.each(func(f Files) { f.ByRows(on) })
	}
}

// Vertices returns the number of vertices.
func (p *Problem) Vertices() int {
	if p.Shards != nil {
		return len(p.Shards.PartOf)
	}
	return p.Graph.Rows()
}

// Edges returns the number of stored directed edges.
func (p *Problem) Edges() int64 {
	if p.Shards != nil {
		return p.Shards.Edges
	}
	return p.Graph.Edges()
}

// FeatureEntries returns the number of stored values of the features of all vertices.
func (p *Problem) FeatureEntries() int64 {
	if p.Shards != nil {
		return p.Shards.FeatureEntries
	}
	return int64(len(p.Features.Dense) + len(p.Features.Data))
}

// inShards reports whether graph and labels are in shards alone.
func (p *Problem) inShards() bool { return p.Shards != nil && p.Graph == nil }

// label returns the class of vertex v, -1 = unlabelled.
func (p *Problem) label(v graph.NodeID) int32 {
	if p.inShards() {
		s, at := p.Shards.own(v)
		return s.Labels[at]
	}
	return p.Labels[v]
}

// targets returns the targets of vertex v.
func (p *Problem) targets(v graph.NodeID) []uint8 {
	if p.inShards() {
		s, at := p.Shards.own(v)
		return s.Targets[at*p.Classes:][:p.Classes]
	}
	return p.Targets[int(v)*p.Classes:][:p.Classes]
}

// Validate reports what is inconsistent in a problem.
func (p *Problem) Validate() error {
	n := p.Vertices()
	errs := []error{p.ValidateInput()}
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if p.Labels != nil && !p.inShards() && len(p.Labels) != n {
		bad("%d labels for %d vertices", len(p.Labels), n)
	}
	if p.Targets != nil && !p.inShards() && len(p.Targets) != n*p.Classes {
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
	if errors.Join(errs...) == nil && p.TrainingVertices() == 0 {
		bad("no vertex to train on: no vertex of the training set has a label (without such a set: all labelled vertices are in the others)")
	}
	return errors.Join(errs...)
}

// ValidateInput reports what is inconsistent in graph and features, which is all that a prediction reads.
func (p *Problem) ValidateInput() error {
	n := p.Vertices()
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if !p.inShards() && p.Graph.Cols != n {
		bad("graph has %d rows and %d columns", n, p.Graph.Cols)
	}
	f := &p.Features
	switch {
	case f.Cols < 1:
		bad("features have %d columns", f.Cols)
	case p.Shards != nil: // whoever maps them has checked them
	case f.Sparse():
		if len(f.Indptr) != n+1 || len(f.Indices) != len(f.Data) {
			bad("sparse features: %d row pointers for %d vertices, %d indices, %d values", len(f.Indptr), n, len(f.Indices), len(f.Data))
		}
	case len(f.Dense) != n*f.Cols:
		bad("features: %d values, want %d vertices × %d", len(f.Dense), n, f.Cols)
	}
	return errors.Join(errs...)
}

// Answers returns the problem without what devices hold once it is placed: edges and features.
func (p *Problem) Answers() *Problem {
	q := *p
	if p.Shards == nil {
		q.Graph = &graph.CSR{Indptr: make([]int64, p.Vertices()+1), Cols: p.Vertices()}
	}
	q.Features = Features{Cols: p.Features.Cols}
	return &q
}

// Trains reports whether vertex v contributes to the loss.
func (p *Problem) Trains(v graph.NodeID) bool {
	if p.Shards != nil {
		return p.Shards.Hops[v] == 0
	}
	return p.Train != nil && p.Train[v] && (p.Labels == nil || p.Labels[v] >= 0)
}

// Training yields the vertices that contribute to the loss.
func (p *Problem) Training() iter.Seq[graph.NodeID] {
	return func(yield func(graph.NodeID) bool) {
		for v := range graph.NodeID(p.Vertices()) {
			if p.Trains(v) && !yield(v) {
				return
			}
		}
	}
}

// TrainingVertices returns how many vertices contribute to the loss.
func (p *Problem) TrainingVertices() int {
	n := 0
	for range p.Training() {
		n++
	}
	return n
}

// Scored returns which vertices scores are of: those of a split that have a label; nil: all. Of a problem in shards a process has only its own splits, so every vertex with a label may be one.
func (p *Problem) Scored() []bool {
	if p.inShards() || p.Shards != nil && p.Labels == nil {
		return nil
	}
	out, all := make([]bool, p.Vertices()), true
	for v := range out {
		in := p.Shards != nil
		for _, mask := range p.splits() {
			in = in || len(mask) > 0 && mask[v]
		}
		out[v] = in && (p.Labels == nil || p.Labels[v] >= 0)
		all = all && out[v]
	}
	if all {
		return nil
	}
	return out
}

// TrainingByClass returns how many of the vertices that contribute to the loss each class has; nil for multi-label problems.
func (p *Problem) TrainingByClass() []int {
	if p.Labels == nil {
		return nil
	}
	n := make([]int, p.Classes)
	for v, y := range p.Labels {
		if p.Trains(graph.NodeID(v)) {
			n[y]++
		}
	}
	return n
}
