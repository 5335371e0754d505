package pipeline

import (
	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/pipeline/chunks"
)

// pair is what a part holds in a super-epoch, on the host. Rows are those of both chunks, each in the order of its part of the cut.
type pair struct {
	*graph.Pair
	chunks   chunks.Pair
	loss     int       // rows that the last layer computes
	row, col []float32 // scales of layers that drop edges; nil: all 1
	// in and out are the values of the entries of In and Out; nil: all 1. One array if they are equal.
	in, out []float32
	// weight is what the gradients of the loss rows are multiplied by; nil: 1.
	weight   []float32
	coverage chunks.Coverage
	// elsewhere has the edges from vertices outside the pair, whose ids are halo, turned their transpose: of a layer 0 that reads the features of
	// these vertices. nil: it does not.
	elsewhere, turned *graph.CSR
	halo              []graph.NodeID
	// plain are the weights that the graph's edges have in such a layer 0; nil: all are 1.
	plain struct{ in, out, elsewhere, turned []float32 }
}

// pairOf makes what a part holds in the super-epochs of a shift; nil: there is no part.
func (s *isolation) pairOf(part, shift int) *pair {
	if part < 0 {
		return nil
	}
	h := s.Course.Pair(part, shift)
	p := &pair{Pair: s.cut.Pair(s.p.Graph, s.p.Loops, h.Base, h.Added), chunks: h, loss: s.lossRows(h.Base, h.Added)}
	v := s.Pieces.View(s.p.Graph, h)
	p.coverage = v.Coverage(s.Targets, s.Train)
	w := v.Weights(s.Correction, s.Targets, s.Train)
	p.row, p.col = pick(s.scale.Row, p.IDs), pick(s.scale.Col, p.IDs)
	loop := s.rescale(p, v)
	if s.valued() {
		s.weigh(p, v, &w, loop)
	}
	if s.Corrects() {
		p.weight = s.lossWeights(p, v, &w)
	}
	if s.replicates {
		p.elsewhere, p.halo = s.cut.Outside(s.p.Graph, p.IDs, h.Base, h.Added)
		p.turned = p.elsewhere.Transpose()
		w := &p.plain
		w.in, w.out = s.edgeWeights(p.In, p.IDs, p.IDs, false), s.edgeWeights(p.Out, p.IDs, p.IDs, true)
		w.elsewhere, w.turned = s.edgeWeights(p.elsewhere, p.IDs, p.halo, false), s.edgeWeights(p.turned, p.halo, p.IDs, true)
	}
	return p
}

// edgeWeights returns what the edges of a matrix over these vertices weigh in the graph: those from columns to rows or, turned, from rows to columns. nil: all are 1.
func (s *isolation) edgeWeights(c *graph.CSR, rows, cols []graph.NodeID, turned bool) []float32 {
	return s.p.Graph.Weigh(nil, c.Indptr, c.Indices, func(r int) graph.NodeID { return rows[r] }, cols, turned)
}

// rescale makes what is left of sums over neighbours stand for all of them, in the scales of rows, and returns what loops weigh besides; nil where nothing is
// rescaled.
func (s *isolation) rescale(p *pair, v *chunks.View) (loop []float32) {
	if !s.rescales() {
		return nil
	}
	if p.row == nil {
		p.row = ones(len(p.IDs))
	}
	loop = ones(len(p.IDs))
	for r := range p.IDs {
		i := v.Index(p.IDs[r])
		if local, all := v.Local[i], v.All[i]; 0 < local && local < all {
			p.row[r], loop[r] = gnn.Rescale(p.row[r], all, local)
		}
	}
	return loop
}

// weigh fills in the values of entries: of loops, of edges within a chunk, and of those between the two, each times what the edge weighs in the graph.
func (s *isolation) weigh(p *pair, v *chunks.View, w *chunks.Weights, loop []float32) {
	values := func(c *graph.CSR, backward bool) []float32 {
		val, weights := make([]float32, len(c.Indices)), s.edgeWeights(c, p.IDs, p.IDs, backward)
		graph.EachBlock(c.Rows(), 1<<12, func(lo, hi int) {
			for r := lo; r < hi; r++ {
				for e := c.Indptr[r]; e < c.Indptr[r+1]; e++ {
					from, to := int(c.Indices[e]), r
					if backward {
						from, to = to, from
					}
					if val[e] = v.Edge(w, p.IDs[from], p.IDs[to]); from == to {
						val[e] = factor(loop, int32(r))
					}
					if weights != nil {
						val[e] *= weights[e]
					}
				}
			}
		})
		return val
	}
	p.in = values(p.In, false)
	if p.out = p.in; p.Out != p.In || s.Correction == chunks.LongRun || s.p.Weighted() { // who reads weighs too
		p.out = values(p.Out, true)
	}
}

// lossWeights returns what the gradient of every row of the loss is multiplied by: the part's factor, beside the ½ of targets that are so twice, times the
// row's own weight.
func (s *isolation) lossWeights(p *pair, v *chunks.View, w *chunks.Weights) []float32 {
	weight := make([]float32, p.loss)
	for r := range weight {
		x := w.Factor / s.shareOfTarget()
		if w.Loss != nil {
			x *= w.Loss[v.Index(p.IDs[r])]
		}
		weight[r] = float32(x)
	}
	return weight
}

// shareOfTarget is what a target weighs: over the parts that it is one of, it adds up to 1. nil: parts are not isolated.
func (s *isolation) shareOfTarget() float64 {
	if s != nil && s.Targets == chunks.Both {
		return 0.5
	}
	return 1
}
