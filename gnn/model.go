package gnn

import (
	"fmt"
	"math"
	"slices"

	"capgnn/model"
)

// Model is a program that operations are known for. It is not changed.
type Model struct {
	Program *model.Program
	In, Out int     // columns of features and of logits
	Layers  int     // exchanges: of named models convolutions or propagations
	nodes   []*node // which passes make anew
	layers  []modelLayer
	tensors []Tensor
	drop    *then    // of features; nil: they are not dropped
	weights string   // what sums over neighbours weigh edges by: model.Sym, GCNNorm, EdgeWeight, or "": nothing
	mean    bool     // they are means
	kinds   []Sum    // of sums over neighbours, where they are several, or weights do not factor: all of the above is nothing then
	rows    bool     // features are read as rows
	own     bool     // layer 0 reads features of a vertex itself beside those of its neighbours
	batches []int    // columns of norms over all vertices
	sums    []int    // columns of sums over all vertices
	running []string // tensors: their running statistics
	loops   string   // model.FullLoops or NoLoops: what is done with the data set's graph, "": nothing
}

// modelLayer is what one exchange is for.
type modelLayer struct {
	in, out  int  // columns of the rows that are summed over neighbours, and of what is made of them
	weighs   bool // a product with a matrix may come before the sum or behind it
	own      bool // rows of the vertex itself are added to the sum before the product
	heads    int  // of attention; 0: there is none
	attends  int  // columns of all heads
	pairs    bool // scores are of pairs of rows, as GATv2's
	features bool // the rows are the features
}

// NewModel returns a program as a model, or a line that says which of its nodes there are no operations for.
func NewModel(p *model.Program) (*Model, error) {
	if len(p.Nodes) > maxNodes {
		return nil, fmt.Errorf("%d nodes and tensors: capgnn trains models of at most %d", len(p.Nodes), maxNodes)
	}
	f, err := fuse(p)
	if err != nil {
		return nil, err
	}
	c := &Model{Program: p, In: p.Features, Out: p.Outputs, Layers: f.layers, nodes: f.nodes, drop: f.drop}
	if err := c.findLayers(f); err != nil {
		return nil, err
	}
	c.findSums(f)
	c.findBatches(f.nodes)
	for i, t := range p.Params() {
		if frozen(p, i) {
			c.running = append(c.running, t.Name)
		}
	}
	c.findTensors(f.nodes)
	return c, nil
}

// findLayers says what the exchange of each depth is for.
func (c *Model) findLayers(f *fusion) error {
	c.layers = slices.Repeat([]modelLayer{{out: c.Program.Outputs}}, f.layers)
	width := func(x *node) int { return columnsOf(x, c.Program.Features) }
	for _, n := range f.nodes {
		if a := n.attend; a != nil {
			c.layers[n.layer] = modelLayer{in: width(a.x), out: n.cols, heads: a.heads, attends: a.width, pairs: a.att != "", features: a.x == nil}
		}
		if g := n.gathers; g != nil {
			in, out := 0, n.cols
			for _, x := range g.xs {
				in += width(x)
			}
			for _, m := range g.messages {
				out += m.cols
			}
			c.layers[n.layer] = modelLayer{in: in, out: out, features: g.features() && len(f.kinds) == 1 && g.messages == nil}
			c.rows = c.rows || slices.Contains(g.xs, nil)
		}
		for _, t := range n.terms {
			if t.graph {
				c.layers[n.layer] = modelLayer{in: width(t.x), out: n.cols, weighs: t.w != "" && !t.mix, own: t.own != nil, features: t.x == nil}
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
func (c *Model) findSums(f *fusion) {
	if len(f.kinds) == 0 {
		return
	}
	s := f.kinds[0]
	if len(f.kinds) > 1 || !s.factors(f.Program) || slices.ContainsFunc(f.nodes, func(n *node) bool { return n.message != nil }) {
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

// findTensors lays the tensors out, each in the first layer that reads it, whose backward pass completes its gradient.
func (c *Model) findTensors(nodes []*node) {
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
func (c *Model) findInitial() {
	p := c.Program
	for i := range c.tensors {
		t := &c.tensors[i]
		if t.start = p.Nodes[i].Start; len(t.Shape) > 1 {
			t.bound = glorot(t.Shape)
		}
	}
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
		case model.Mul, model.Div: // what multiplies columns leaves them as they are
			for k := range n.In {
				if t := read(k); len(t.Shape) == 1 && t.Shape[0] > 1 && n.Space == model.Vertices && len(n.Shape) == 1 {
					t.constant = 1
				}
			}
		}
	}
}

// Config returns the model with a seed for initial weights and dropout.
func (c *Model) Config(multi bool, seed uint64) Config {
	return Config{Model: c, Multi: multi, Seed: seed}
}

// Loops returns model.FullLoops, model.NoLoops, or "" if loops of the data set stay as they are.
func (c *Model) Loops() string { return c.loops }
