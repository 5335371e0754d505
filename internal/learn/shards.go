package learn

import (
	"fmt"
	"slices"
	"sync/atomic"

	"capgnn/graph"
)

// Shards is a problem that is kept in shards, of which a process has some: what it knows of all parts, and the
// shards that it has.
type Shards struct {
	graph.Outline
	Edges          int64 // stored directed edges of the graph
	FeatureEntries int64 // stored values of the features of all vertices
	place          []int32
	have           []*Shard // by part; nil: another process has it
	fault          atomic.Pointer[func(error)]
}

// Shard is what is kept of some parts: rows of their vertices, part by part and ascending in each, then those of
// other vertices that they list.
type Shard struct {
	Parts      graph.Range
	IDs        []graph.NodeID // of the vertices: first the parts' own, behind them others, ascending
	Own        int            // how many are the parts' own
	In         *graph.CSR     // in-neighbours of own vertices, as numbers in IDs
	Out        *graph.CSR     // vertices that own ones lead to, as numbers in OutIDs; In where the graph is symmetric
	OutIDs     []graph.NodeID // as IDs; the own ones are the same
	OutWeights []float32      // of Out's edges, as In.Weights are of In's: an edge and its reverse may differ; nil: edges have none
	Features   Features       // of all IDs
	Labels     []int32        // of the own ones at least; nil for multi-label problems
	Targets    []uint8        // the same; nil for single-label problems
	Files      Files          // what is mapped of it; nil: nothing
}

// NewShards returns what is known of all parts, without a shard.
func NewShards(o graph.Outline, edges, entries int64) *Shards {
	return &Shards{Outline: o, Edges: edges, FeatureEntries: entries, have: make([]*Shard, len(o.In)), place: make([]int32, len(o.PartOf))}
}

// Add takes the shard of a range of parts. It is an error if its vertices are not those of the parts.
func (s *Shards) Add(h *Shard) error {
	fault := func(what string, v graph.NodeID) error {
		return fmt.Errorf("shard of the parts from %d to %d: %s vertex %d is out of order, or not theirs", h.Parts.Lo, h.Parts.Hi-1, what, v)
	}
	next := make([]int, len(s.have)+1) // of each part: the row of its next vertex
	for _, p := range s.PartOf {
		if h.Parts.Has(int(p)) {
			next[p+1]++
		}
	}
	for p := range s.have {
		next[p+1] += next[p]
	}
	if next[len(s.have)] != h.Own {
		return fmt.Errorf("shard of the parts from %d to %d: has %d vertices, they have %d", h.Parts.Lo, h.Parts.Hi-1, h.Own, next[len(s.have)])
	}
	for v, p := range s.PartOf {
		if !h.Parts.Has(int(p)) {
			continue
		}
		at := next[p]
		next[p]++
		if h.IDs[at] != graph.NodeID(v) || h.OutIDs[at] != graph.NodeID(v) {
			return fault("own", graph.NodeID(v))
		}
		s.place[v] = int32(at)
	}
	if s.Weights != nil && (len(h.In.Weights) != len(h.In.Indices) || len(h.OutWeights) != len(h.Out.Indices)) {
		return fmt.Errorf("shard of the parts from %d to %d: has edges without weights", h.Parts.Lo, h.Parts.Hi-1)
	}
	for part := h.Parts.Lo; part < h.Parts.Hi; part++ {
		s.have[part] = h
	}
	for _, ids := range [][]graph.NodeID{h.IDs, h.OutIDs} {
		for k := h.Own; k < len(ids); k++ {
			if v := ids[k]; v < 0 || int(v) >= len(s.PartOf) || k > h.Own && v <= ids[k-1] || h.Parts.Has(int(s.PartOf[v])) {
				return fault("other", v)
			}
		}
	}
	return nil
}

// Covers says which part of a range has no shard here.
func (s *Shards) Covers(own graph.Range) error {
	for part := own.Lo; part < own.Hi; part++ {
		if part >= len(s.have) || s.have[part] == nil {
			return fmt.Errorf("part %d has no shard in this process", part)
		}
	}
	return nil
}

// RowsOf returns the rows of a part that has a shard here, in both directions.
func (s *Shards) RowsOf(part int) (in, out *graph.Rows) {
	h := s.have[part]
	in = &graph.Rows{CSR: h.In, At: s.place, IDs: h.IDs}
	if out = in; h.Out != h.In || h.OutWeights != nil {
		out = &graph.Rows{CSR: h.outward(), At: s.place, IDs: h.OutIDs}
	}
	return in, out
}

// own returns the shard that has the row of a vertex of a part that has one here, and the row.
func (s *Shards) own(v graph.NodeID) (*Shard, int) { return s.have[s.PartOf[v]], int(s.place[v]) }

// FillFeatures writes the features of vertex v, dense, to dst.
func (p *Problem) FillFeatures(dst []float32, v graph.NodeID) {
	if p.Shards == nil {
		p.Features.Fill(dst, v)
		return
	}
	f, at := p.Shards.featuresOf(v)
	p.Shards.read(func() { f.Fill(dst, at) })
}

// Rest takes features that lie in shards out of the process's memory until they are read again.
func (p *Problem) Rest() {
	if p.Shards != nil {
		p.Shards.each(Files.Rest)
	}
}

// each calls do with what is mapped of every shard.
func (s *Shards) each(do func(f Files)) {
	var last *Shard
	for _, h := range s.have {
		if h != last && h != nil && h.Files != nil {
			do(h.Files)
		}
		last = h
	}
}

// WithGraph gives the problem what sampled training reads of all parts: the graph, labels or targets, and where the
// entries of sparse features begin among those of all vertices.
func (p *Problem) WithGraph(g *graph.CSR, labels []int32, targets []uint8, entries []int64) {
	p.Graph, p.Labels, p.Targets = g, labels, targets
	if p.Features.Sparse() {
		p.Features.Indptr = entries
	}
}

// SuitsGraph says where a shard that was added is not one of what WithGraph has brought.
func (p *Problem) SuitsGraph(h *Shard) error {
	row := make([]bool, len(p.Shards.PartOf))
	for k, v := range h.IDs {
		row[v] = true
		if x := &h.Features; x.Sparse() && x.Indptr[k+1]-x.Indptr[k] != p.Features.Indptr[v+1]-p.Features.Indptr[v] {
			return fmt.Errorf("vertex %d has %d features in its shard, and %d by the graph beside it", v, x.Indptr[k+1]-x.Indptr[k], p.Features.Indptr[v+1]-p.Features.Indptr[v])
		}
	}
	for k, v := range h.IDs[:h.Own] {
		list := p.Graph.Row(int(v))
		if len(list) != len(h.In.Row(k)) || slices.ContainsFunc(list, func(u graph.NodeID) bool { return !row[u] }) {
			return fmt.Errorf("vertex %d has other in-neighbours in its shard than in the graph beside it", v)
		}
	}
	return nil
}

// LyingFeatures returns dense features of consecutive vertices where they lie, nil if they do not lie so.
func (p *Problem) LyingFeatures(ids []graph.NodeID) []float32 {
	if p.Shards != nil {
		return nil
	}
	return p.Features.Lying(ids)
}

// CopySparse writes the sparse features of vertex v to columns and values, which have room for them, and returns
// how many there are.
func (p *Problem) CopySparse(columns []int32, values []float32, v graph.NodeID) (n int) {
	if p.Shards == nil {
		return p.Features.copySparse(columns, values, v)
	}
	f, at := p.Shards.featuresOf(v)
	p.Shards.read(func() { n = f.copySparse(columns, values, at) })
	return n
}

func (f *Features) copySparse(columns []int32, values []float32, v graph.NodeID) int {
	lo, hi := f.Indptr[v], f.Indptr[v+1]
	copy(columns, f.Indices[lo:hi])
	return copy(values, f.Data[lo:hi])
}

// gatherRows is the number of rows that a goroutine gathers at a time.
const gatherRows = 1 << 8

// SparseFeatures makes x the sparse features of some vertices, with values as Weights. It uses the slices that x
// has, if they are large enough.
func (p *Problem) SparseFeatures(x *graph.CSR, ids []graph.NodeID) {
	x.Cols, x.Indptr = p.Features.Cols, resized(x.Indptr, len(ids)+1)
	x.Indptr[0] = 0
	for i, v := range ids {
		f := &p.Features
		if p.Shards != nil {
			f, v = p.Shards.featuresOf(v)
		}
		x.Indptr[i+1] = x.Indptr[i] + f.Indptr[v+1] - f.Indptr[v]
	}
	entries := int(x.Indptr[len(ids)])
	x.Indices, x.Weights = resized(x.Indices, entries), resized(x.Weights, entries)
	graph.EachBlock(len(ids), gatherRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p.CopySparse(x.Indices[x.Indptr[i]:], x.Weights[x.Indptr[i]:], ids[i])
		}
	})
}

// resized returns s with n elements, whatever they hold; not nil.
func resized[T any](s []T, n int) []T {
	if s == nil || cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// featuresOf returns where the feature row of a vertex lies that a shard here has: as its own, or as one that its
// vertices list.
func (s *Shards) featuresOf(v graph.NodeID) (*Features, graph.NodeID) {
	if h, at := s.own(v); h != nil {
		return &h.Features, graph.NodeID(at)
	}
	var last *Shard
	for _, h := range s.have {
		if h == nil || h == last {
			continue
		}
		if k, ok := slices.BinarySearch(h.IDs[h.Own:], v); ok {
			return &h.Features, graph.NodeID(h.Own + k)
		}
		last = h
	}
	panic(fmt.Sprintf("learn: no shard here has the features of vertex %d", v))
}

// Release gives up all but what scores are counted by.
func (s *Shards) Release() {
	s.Outline = graph.Outline{PartOf: s.PartOf, Hops: s.Hops}
	for _, h := range s.have {
		if h != nil {
			h.In, h.Out, h.IDs, h.OutIDs, h.OutWeights, h.Features = nil, nil, nil, nil, nil, Features{}
		}
	}
}
