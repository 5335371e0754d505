package model

import (
	"fmt"
	"slices"
)

// Arguments are what the models that have a name differ by. Those that a model has no use for are left out.
type Arguments struct {
	In, Out      int     // columns of features and logits
	Layers       int     // convolutions; SGC and APPNP: propagations
	Hidden       int     // columns of a hidden layer, all heads together
	Heads        int     // GAT and GATv2
	Alpha        float64 // APPNP and GCNII: share of H⁰ in what a layer sums
	Theta        float64 // GCNII: layer ℓ = 1, 2, … has the share log(θ/ℓ + 1) of its weight
	NoNorm       bool    // no LayerNorm between layers
	Residual     bool    // hidden layers behind the first add what they read
	Jumping      bool    // the logits are a Linear of what all layers make
	Activation   Op      // "": ReLU
	Dropout      float64
	DropFeatures bool   // of GCN, GraphSAGE, GIN, GAT and GATv2: they read dropout(X)
	Loops        string // what the program makes of self-loops, FullLoops or NoLoops; "": the data set has those that it has
}

// Counters of dropout that belong to no layer.
const (
	OriginCounter  = 64 // before the first convolution of APPNP and GCNII
	FeatureCounter = 65
)

// Builder makes a program of arguments.
type Builder struct {
	Name  string
	Paper string
	Loops string // what its definition makes of self-loops: FullLoops or NoLoops
	Build func(Arguments) (*Program, error)
}

// Builders lists the models that have a name.
var Builders = []Builder{
	{"gcn", "Kipf and Welling, 2017", FullLoops, GCN},
	{"sage", "Hamilton et al., 2017", NoLoops, SAGE},
	{"gin", "Xu et al., 2019", NoLoops, GIN},
	{"gat", "Veličković et al., 2018", FullLoops, GAT},
	{"gatv2", "Brody et al., 2022", FullLoops, GATv2},
	{"sgc", "Wu et al., 2019", FullLoops, SGC},
	{"appnp", "Gasteiger et al., 2019", FullLoops, APPNP},
	{"gcnii", "Chen et al., 2020", FullLoops, GCNII},
}

// Named returns the model of a name.
func Named(name string) (Builder, error) {
	i := slices.IndexFunc(Builders, func(b Builder) bool { return b.Name == name })
	if i < 0 {
		return Builder{}, fmt.Errorf("no model has the name %q", name)
	}
	return Builders[i], nil
}

// builder collects tensors and nodes, which refer to each other by name, in any order.
type builder struct {
	Arguments
	graph   string // that all sums are over
	tensors []Node
	nodes   []Node
	in      [][]string
	count   map[Op]int
	x       string // features, perhaps dropped
}

func newBuilder(a Arguments) *builder {
	b := &builder{Arguments: a, graph: "g", count: map[Op]int{}}
	if a.Loops != "" {
		b.graph = "a"
	}
	if a.Activation == "" {
		b.Activation = ReLU
	}
	b.x = b.named("x", Node{Op: Input, Attr: defaults(Input)})
	return b
}

// param declares a tensor and returns its name.
func (b *builder) param(name string, shape ...int) string {
	b.tensors = append(b.tensors, Node{Name: name, Shape: shape})
	return name
}

// named appends a node.
func (b *builder) named(name string, n Node, in ...string) string {
	n.Name = name
	b.nodes, b.in = append(b.nodes, n), append(b.in, in)
	return name
}

// op appends a node without attributes, or whose graph is the builder's.
func (b *builder) op(o Op, in ...string) string { return b.with(o, nil, in...) }

// with appends a node whose attributes, or shape, set changes.
func (b *builder) with(o Op, set func(*Node), in ...string) string {
	n := Node{Op: o, Attr: defaults(o)}
	if slices.Contains([]Op{Src, Dst, SumIn, MaxIn, SoftmaxIn}, o) {
		n.Graph = b.graph
	}
	if set != nil {
		set(&n)
	}
	b.count[o]++
	return b.named(fmt.Sprintf("%s%d", o, b.count[o]-1), n, in...)
}

// constant appends one, of the builder's graph unless it is a number.
func (b *builder) constant(what string, value float64) string {
	return b.with(Const, func(n *Node) {
		n.What, n.Value = what, value
		if what != Number {
			n.Graph = b.graph
		}
	})
}

func (b *builder) reshape(x string, shape ...int) string {
	return b.with(Reshape, func(n *Node) { n.Shape = shape }, x)
}

func (b *builder) fold(x, how string, axis int) string {
	return b.with(Fold, func(n *Node) { n.How, n.Axis = how, axis }, x)
}

// sum appends c₀·x₀ + c₁·x₁.
func (b *builder) sum(c0 float64, x0 string, c1 float64, x1 string) string {
	return b.with(Add, func(n *Node) { n.Coef = []float64{c0, c1} }, x0, x1)
}

// linear appends a product with tensors NAME.weight, [out, in], and NAME.bias.
func (b *builder) linear(x, name string, out, in int) string {
	return b.op(Linear, x, b.param(name+".weight", out, in), b.param(name+".bias", out))
}

// drop appends dropout, if there is any.
func (b *builder) drop(x string, counter int) string {
	if b.Dropout == 0 {
		return x
	}
	return b.with(Dropout, func(n *Node) { n.P, n.Counter = b.Dropout, counter }, x)
}

// propagate appends Σ w·x over in-edges.
func (b *builder) propagate(x, w string) string { return b.op(SumIn, b.op(Mul, w, b.op(Src, x))) }

// finish returns the program.
func (b *builder) finish(logits string) (*Program, error) {
	p, err := New(b.In, b.Out)
	if err != nil {
		return nil, err
	}
	graphs := []Graph{{Name: "g", Weight: 1}}
	if b.Loops != "" {
		graphs = append(graphs, Graph{Name: "a", Of: "g", Do: b.Loops, Weight: 1})
	}
	for _, g := range graphs {
		if err := p.AddGraph(g); err != nil {
			return nil, err
		}
	}
	for _, t := range b.tensors {
		if err := p.AddTensor(t.Name, t.Shape...); err != nil {
			return nil, err
		}
	}
	for i, n := range b.nodes {
		for _, name := range b.in[i] {
			n.In = append(n.In, p.names[name])
		}
		if _, err := p.Add(n); err != nil {
			return nil, err
		}
	}
	return p, p.Finish(logits)
}
