package pipeline

import (
	"fmt"
	"math"
	"slices"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/trainer"
	"capgnn/pipeline/chunks"
)

// Isolated configures parts that train without halo rows: see chunks.Isolated.
type Isolated = chunks.Isolated

// chunks returns how many pieces the graph is cut into: as many as there are parts, but for isolated ones that take turns.
func (o *Options) chunks() int {
	if o.Isolated != nil {
		return o.Isolated.Count(o.Parts)
	}
	return o.Parts
}

// phased reports whether parts take turns.
func (o *Options) phased() bool { return o.chunks() != o.Parts }

func (o *Options) checkIsolated(vertices int) (errs []error) {
	i := o.Isolated
	if i == nil {
		return nil
	}
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf("isolated parts: "+format, a...)) }
	errs = append(errs, i.Check(o.Parts, vertices)...)
	if o.Cache.Policy != "" || o.Cache.Staleness > 0 || slices.ContainsFunc(o.Dropped, func(ids []graph.NodeID) bool { return len(ids) > 0 }) {
		bad("there are no rows of other parts that could be kept, old or dropped")
	}
	if o.Model.SumsAll() {
		bad("the model sums over all vertices, of which parts hold some: train whole parts")
	}
	return append(errs, trainer.CheckIsolated(i, o.Model, o.Storage)...)
}

// isolation is what the isolated parts of a run share: the graph, and what they hold when.
type isolation struct {
	*chunks.Turns[*pair]
	p       *learn.Problem // with graph and features, which later pairs are made of
	cut     *graph.Cut
	model   gnn.Config
	layers  int
	scale   gnn.Scaling // of the whole graph
	looped  bool        // some vertex has a loop
	between [][]int64   // edges into each part from each
	stored  []int64     // sparse feature values of each part; nil: features are dense
	ax      []float32   // ÂX by vertex, in the table; nil: layer 0 does not read it, or nothing is computed
	// replicates says that layer 0 reads features of vertices elsewhere.
	replicates bool
}

// newIsolation prepares isolated parts; nil where parts are not isolated.
func newIsolation(p *learn.Problem, o *Options, cut *graph.Cut) (*isolation, error) {
	if o.Isolated == nil {
		return nil, nil
	}
	s := &isolation{p: p, cut: cut, model: o.Model, layers: o.Model.Layers,
		scale: p.Scaling(o.Model, cut.InDegree, cut.OutDegree), between: cut.EdgesBetween(p.Graph, p.Loops)}
	var err error
	s.Turns, err = chunks.NewTurns(*o.Isolated, o.Part, o.own(), o.Parts, o.Epochs, p.Trains, s.pairOf)
	if err != nil {
		return nil, err
	}
	for v := range p.Vertices() {
		s.looped = s.looped || p.Loops.Has(p.Graph, graph.NodeID(v))
	}
	if f := &p.Features; f.Sparse() {
		s.stored = make([]int64, o.chunks())
		for v, k := range o.Part {
			s.stored[k] += f.Indptr[v+1] - f.Indptr[v]
		}
	}
	return s, nil
}

// rescales reports whether what is left of a sum over neighbours stands for all of it.
func (s *isolation) rescales() bool { return s.model.Rescales() && !s.Correction.EdgeWeights() }

// valued reports whether edges between the rows of a pair have values: where they are weighed, or where loops keep their weight beside rescaled neighbours.
func (s *isolation) valued() bool {
	return s.Correction.EdgeWeights() || s.rescales() && s.looped || s.p.Weighted()
}

// lossRows returns how many rows of a pair the last layer computes: the first ones.
func (s *isolation) lossRows(a, b int) int {
	if s.Targets == chunks.Both {
		return len(s.cut.Parts[a].Inner) + s.cut.Parts[b].Rows[s.layers]
	}
	return s.cut.Parts[a].Rows[s.layers]
}

// entries returns the edges that two parts induce, and those into them from elsewhere, which loops are not.
func (s *isolation) entries(a, b int) (inside, outside int64) {
	for k, n := range s.between[a] {
		if m := s.between[b][k]; k == a || k == b {
			inside += n + m
		} else {
			outside += n + m
		}
	}
	return inside, outside
}

// shape is Layout.shape of the pairs of the first super-epoch.
func (s *isolation) shape(f *learn.Features) gnn.Shape {
	g := gnn.Shape{Rows: make([]int64, s.layers+1), Edges: make([]int64, s.layers), Halo: make([]int64, s.layers), BackHalo: make([]int64, s.layers),
		Sparse: s.stored != nil, FeatureEntries: 2 * int64(len(f.Dense)+len(f.Data))}
	for part := range s.cut.Parts {
		p := s.Course.Pair(part, 1)
		inside, outside := s.entries(p.Base, p.Added)
		for k := range s.layers {
			g.Rows[k] += int64(len(s.cut.Parts[p.Base].Inner) + len(s.cut.Parts[p.Added].Inner))
			if g.Edges[k] += inside; k == 0 && !s.AllLayers {
				g.Edges[k] += outside
			}
		}
		g.Rows[s.layers] += int64(s.lossRows(p.Base, p.Added))
	}
	return g
}

// capacity is the most that a part holds of a pair.
type capacity struct {
	rows, loss int
	entries    int // edges among them
	halo       int // vertices elsewhere whose features layer 0 reads
	haloEdges  int
	stored     int // sparse feature values
	haloStored int
}

// cover makes a capacity that of a part too, over all shifts.
func (c *capacity) cover(s *isolation, part int) {
	var all int64
	for _, n := range s.stored {
		all += n
	}
	for shift := 1; shift <= s.Course.Shifts(); shift++ {
		p := s.Course.Pair(part, shift)
		rows := len(s.cut.Parts[p.Base].Inner) + len(s.cut.Parts[p.Added].Inner)
		inside, outside := s.entries(p.Base, p.Added)
		c.rows, c.loss, c.entries = max(c.rows, rows), max(c.loss, s.lossRows(p.Base, p.Added)), max(c.entries, int(inside))
		c.halo = max(c.halo, min(len(s.Train)-rows, int(min(outside, math.MaxInt32))))
		c.haloEdges = max(c.haloEdges, int(outside))
		if s.stored != nil {
			own := s.stored[p.Base] + s.stored[p.Added]
			c.stored, c.haloStored = max(c.stored, int(own)), max(c.haloStored, int(all-own))
		}
	}
}
