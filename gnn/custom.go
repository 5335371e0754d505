package gnn

import (
	"fmt"
	"math"
	"slices"

	"capgnn/model"
)

// Custom is a program that operations are known for, as a model in place of a Kind. It is not changed.
type Custom struct {
	Program *model.Program
	layers  []customLayer
	tensors []Tensor
	drop    *then    // of features; nil: they are not dropped
	weights string   // what sums over neighbours weigh edges by: model.Sym, GCNNorm, EdgeWeight, or "": nothing
	mean    bool     // they are means
	kinds   []Sum    // of sums over neighbours, where they are several, or weights do not factor: all of the above is nothing then
	rows    bool     // features are read as rows
	own     bool     // layer 0 reads features of a vertex itself beside those of its neighbours
	batches []int    // columns of norms over all vertices
	running []string // tensors: their running statistics
	loops   string   // model.FullLoops or NoLoops: what is done with the data set's graph, "": nothing
}

// customLayer is what one exchange is for.
type customLayer struct {
	in, out  int  // columns of the rows that are summed over neighbours, and of what is made of them
	weighs   bool // a product with a matrix may come before the sum or behind it
	own      bool // rows of the vertex itself are added to the sum before the product
	heads    int  // of attention; 0: there is none
	attends  int  // columns of all heads
	pairs    bool // scores are of pairs of rows, as GATv2's
	features bool // the rows are the features
}

// NewCustom returns a program as a model, or a line that says which of its nodes there are no operations for.
func NewCustom(p *model.Program) (*Custom, error) {
	if len(p.Nodes) > maxNodes {
		return nil, fmt.Errorf("%d nodes and tensors: capgnn trains models of at most %d", len(p.Nodes), maxNodes)
	}
	f, err := fuse(p)
	if err != nil {
		return nil, err
	}
	c := &Custom{Program: p, drop: f.drop}
	if err := c.findLayers(f); err != nil {
		return nil, err
	}
	c.findSums(f)
	c.findBatches(f.nodes)
	c.findTensors(f.nodes)
	return c, nil
}

// Config returns the model with a seed for initial weights and dropout.
func (c *Custom) Config(multi bool, seed uint64) Config {
	m := Config{Custom: c, Layers: len(c.layers), In: c.Program.Features, Out: c.Program.Outputs, Multi: multi, Seed: seed}
	if c.drop != nil {
		m.DropFeatures, m.Dropout = true, c.drop.p
	}
	return m
}

// findLayers says what the exchange of each depth is for.
func (c *Custom) findLayers(f *fusion) error {
	c.layers = make([]customLayer, f.layers)
	width := func(x *node) int { return columnsOf(x, c.Program.Features) }
	for _, n := range f.nodes {
		if a := n.attend; a != nil {
			c.layers[n.layer] = customLayer{in: width(a.x), out: n.cols, heads: a.heads, attends: a.width, pairs: a.att != "", features: a.x == nil}
		}
		if g := n.gathers; g != nil {
			in := 0
			for _, x := range g.xs {
				in += width(x)
			}
			c.layers[n.layer] = customLayer{in: in, out: n.cols, features: g.features() && len(f.kinds) == 1}
			c.rows = c.rows || slices.Contains(g.xs, nil)
		}
		for _, t := range n.terms {
			if t.graph {
				c.layers[n.layer] = customLayer{in: width(t.x), out: n.cols, weighs: t.w != "" && !t.mix, own: t.own != nil, features: t.x == nil}
			}
			c.own = c.own || t.x == nil && !t.graph || t.own != nil && t.own.x == nil
			c.rows = c.rows || t.x == nil && !t.graph && t.w == ""
		}
	}
	for l := range c.layers {
		if (c.layers[l].heads > 0) != (c.layers[0].heads > 0) {
			return fmt.Errorf("attention and sums with fixed weights are in one model: capgnn has models of one of them")
		}
		if c.layers[l].pairs != c.layers[0].pairs {
			return fmt.Errorf("two kinds of attention are in one model: capgnn has models of one of them")
		}
	}
	return nil
}

// Bounds of models that are trained: what is derived from a program grows with the square of its length.
const (
	maxLayers = 64 // exchanges
	maxNodes  = 10_000
)

// findSums finds out by what sums weigh edges, and of which graphs they are.
func (c *Custom) findSums(f *fusion) {
	s := f.kinds[0]
	if len(f.kinds) > 1 || !s.factors(f.Program) {
		c.kinds = f.kinds
		return
	}
	c.weights, c.mean = s.What, s.Mean
	for _, g := range f.Graphs {
		if g.Name == s.Graph {
			c.loops = g.Do
		}
	}
}

// Sums returns the kinds of sums over neighbours of a model of whose adjacency every entry has a value for each; nil:
// entries are scaled (ScalingOf).
func (c Config) Sums() []Sum {
	if c.Custom == nil {
		return nil
	}
	return c.Custom.kinds
}

// kinds returns how many values entries have.
func (c Config) kinds() int { return max(1, len(c.Sums())) }

// ReadsRows reports whether the model reads features as rows: sparse ones have to be made dense.
func (c Config) ReadsRows() bool { return c.Custom != nil && c.Custom.rows }

// findTensors lays the tensors out, each in the first layer that reads it, whose backward pass completes its gradient.
func (c *Custom) findTensors(nodes []*node) {
	layer := map[string]int{}
	for _, n := range slices.Backward(nodes) {
		for _, name := range n.tensors() {
			layer[name] = n.layer
		}
	}
	for _, t := range c.Program.Params() {
		shape := t.Shape
		if len(shape) == 0 {
			shape = []int{1}
		}
		c.tensors = append(c.tensors, Tensor{Name: t.Name, Shape: shape, Layer: layer[t.Name]})
	}
	c.findInitial()
}

// findInitial says how tensors are drawn by what they are for.
func (c *Custom) findInitial() {
	for i := range c.tensors {
		if t := &c.tensors[i]; len(t.Shape) > 1 {
			t.bound = glorot(t.Shape)
		}
	}
	p := c.Program
	for i := range p.Nodes {
		n := &p.Nodes[i]
		read := func(k int) *Tensor {
			if k >= len(n.In) || n.In[k] >= p.Tensors {
				return &Tensor{}
			}
			return &c.tensors[n.In[k]]
		}
		switch n.Op {
		case model.LayerNorm, model.BatchNorm:
			read(1).constant = 1
			read(4).constant = 1 // a running variance
		case model.Linear:
			bound := 1 / math.Sqrt(float64(p.Nodes[n.In[1]].Shape[1]))
			read(1).bound, read(2).bound = bound, bound
		}
	}
}

// Loops returns model.FullLoops, model.NoLoops, or "" if loops of the data set stay as they are.
func (c *Custom) Loops() string { return c.loops }

// What follows is asked of a model whether it is a Kind or a program.

// Name returns what messages call the model.
func (c Config) Name() string {
	if c.Custom != nil {
		return "program"
	}
	return string(c.Kind)
}

// Identity returns what keys of files call the way in which the model sums over neighbours.
func (c Config) Identity() string {
	if c.Custom != nil {
		return c.Custom.Program.SHA256()
	}
	return string(c.Kind)
}

// Attends reports whether the model weighs neighbours by attention: a softmax over in-edges, in heads.
func (c Config) Attends() bool {
	if c.Custom != nil {
		return c.Custom.layers[0].heads > 0
	}
	return c.Kind.Attends()
}

// pairs reports whether scores of attention are of pairs of rows.
func (c Config) pairs() bool {
	if c.Custom != nil {
		return c.Custom.layers[0].pairs
	}
	return c.Kind == GATv2
}

// Symmetric reports whether entries of the model's adjacency are scaled by roots of degrees.
func (c Config) Symmetric() bool {
	if c.Custom != nil {
		return c.Custom.weights == model.Sym || c.Custom.weights == model.GCNNorm
	}
	return c.Kind.Symmetric()
}

// ReadsWeights reports whether the model has a use for edge weights.
func (c Config) ReadsWeights() bool {
	if c.Custom != nil {
		return c.Custom.weights != "" || slices.ContainsFunc(c.Custom.kinds, func(s Sum) bool { return s.What != "" })
	}
	return !c.Kind.Attends()
}

// ScalesRows reports whether the entries of the model's adjacency weigh by their rows; those of symmetric ones weigh by their columns, too.
func (c Config) ScalesRows() bool {
	if c.Custom != nil {
		return c.Symmetric() || c.Custom.mean
	}
	return c.Kind.ScalesRows()
}

// CanPrecompute reports whether layer 0 sums features, so that evaluation may read ÂX.
func (c Config) CanPrecompute() bool {
	if c.Custom != nil {
		return !c.Attends() && c.Custom.layers[0].features
	}
	return c.Kind.Precomputes()
}

// ReadsOwn reports whether layer 0 reads a vertex's own features beside ÂX.
func (c Config) ReadsOwn() bool {
	if c.Custom != nil {
		return c.Custom.own
	}
	return c.Kind.ReadsOwn()
}

// StoresBF16 reports whether the rows that aggregations gather may be stored in BF16.
func (c Config) StoresBF16() bool {
	if c.Custom != nil {
		return !c.AllRows() && !slices.ContainsFunc(c.Custom.layers, func(l customLayer) bool { return !l.weighs })
	}
	return c.Kind.StoresBF16()
}

// KeepsOrigin reports whether layer 0 sums rows that the model makes of the features by more than a product, so that it exchanges them in every epoch.
func (c Config) KeepsOrigin() bool {
	if c.Custom != nil {
		return !c.Custom.layers[0].features
	}
	return c.Kind.KeepsOrigin()
}

// addsOwn reports whether layer l adds rows of the vertex itself to its sum, before the product.
func (c Config) addsOwn(l int) bool {
	if c.Custom != nil {
		return c.Custom.layers[l].own
	}
	return c.Kind == GIN
}
