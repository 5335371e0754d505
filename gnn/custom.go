package gnn

import (
	"cmp"
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
	drop    *then  // of features; nil: they are not dropped
	weights string // what sums over neighbours weigh edges by: model.Sym, GCNNorm, EdgeWeight, or "": nothing
	mean    bool   // they are means
	own     bool   // layer 0 reads features of a vertex itself beside those of its neighbours
	loops   string // model.FullLoops or NoLoops: what is done with the data set's graph, "": nothing
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
	nodes, drop, err := fuse(p)
	c := &Custom{Program: p, drop: drop}
	if err == nil {
		err = c.findLayers(nodes)
	}
	if err == nil {
		err = c.findSums()
	}
	if err != nil {
		return nil, err
	}
	c.findTensors(nodes)
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

// findLayers finds the one sum over neighbours of each depth.
func (c *Custom) findLayers(nodes []*node) error {
	p := c.Program
	depth := p.Depth()[p.Logits]
	if depth < 1 {
		return fmt.Errorf("the model reads no rows of neighbours: it is no graph neural network")
	}
	if depth > maxLayers {
		return fmt.Errorf("rows of neighbours are read %d times one behind the other, more than %d", depth, maxLayers)
	}
	c.layers = make([]customLayer, depth)
	found := make([]bool, depth)
	for _, n := range nodes {
		l, ok := customLayer{}, false
		width := func(x *node) int {
			if x == nil {
				return p.Features
			}
			return x.cols
		}
		if a := n.attend; a != nil {
			l, ok = customLayer{in: width(a.x), out: n.cols, heads: a.heads, attends: a.width, pairs: a.att != "", features: a.x == nil}, true
		}
		for _, t := range n.terms {
			if t.graph {
				if ok {
					return fmt.Errorf("two sums over neighbours are added in one step of depth %d: capgnn makes one", n.layer)
				}
				l, ok = customLayer{in: width(t.x), out: n.cols, weighs: t.w != "" && !t.mix, own: t.own != nil, features: t.x == nil}, true
			}
			c.own = c.own || t.x == nil && !t.graph || t.own != nil && t.own.x == nil
		}
		if !ok {
			continue
		}
		if found[n.layer] {
			return fmt.Errorf("rows of neighbours are read by two sums at depth %d: capgnn reads one value at each depth", n.layer)
		}
		c.layers[n.layer], found[n.layer] = l, true
	}
	if l := slices.Index(found, false); l >= 0 {
		return fmt.Errorf("no sum over neighbours is at depth %d", l)
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

// findSums finds out by what all sums weigh edges, and of which graph they are.
func (c *Custom) findSums() error {
	p, reach := c.Program, c.Program.Reach()
	graph, means := "", map[int]bool{}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; reach[i] >= 0 && n.Op == model.Div {
			means[n.In[0]] = true
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if reach[i] < 0 || n.Space.Graph() == "" && n.Op != model.SumIn && !(n.Op == model.Const && n.Graph != "") {
			continue
		}
		if g := cmp.Or(n.Graph, n.Space.Graph()); graph == "" {
			graph = g
		} else if g != graph {
			return fmt.Errorf("node %q: is of graph %q, others are of graph %q: capgnn trains on one%s", n.Name, g, graph, where(n))
		}
		if n.Op != model.SumIn {
			continue
		}
		weights, attention := "", false
		if e := &p.Nodes[n.In[0]]; e.Op == model.Mul {
			if w := &p.Nodes[e.In[0]]; w.Op == model.Const {
				weights = w.What
			} else {
				attention = true
			}
		}
		if attention {
			weights = ""
		}
		mean := means[i]
		if mean && weights != "" && weights != model.EdgeWeight {
			return fmt.Errorf("node %q: a mean weighs edges by %s: let it weigh them by edge_weight, or take a sum%s", n.Name, weights, where(n))
		}
		c.weights, c.mean = weights, mean // fuse refuses sums that differ
	}
	for k := range p.Graphs {
		g := &p.Graphs[k]
		switch {
		case g.Name != graph || g.Of == "":
		case p.Graphs[0].Name != g.Of || p.Graphs[0].Of != "" || !slices.Contains([]string{model.FullLoops, model.NoLoops}, g.Do):
			return fmt.Errorf("graph %q: capgnn trains on the data set's graph, or on its full_loops or no_loops", g.Name)
		case g.Weight != 1:
			return fmt.Errorf("graph %q: loops of weight %g: capgnn adds loops of weight 1", g.Name, g.Weight)
		default:
			c.loops = g.Do
		}
	}
	return nil
}

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
		return c.Custom.weights != ""
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
		return !slices.ContainsFunc(c.Custom.layers, func(l customLayer) bool { return !l.weighs })
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
