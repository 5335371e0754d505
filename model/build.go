package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Arguments are what the models that have a name differ by. Those that a model has no use for are left out.
type Arguments struct {
	In, Out          int     // columns of features and logits
	Layers           int     // convolutions; SGC and APPNP: propagations
	Hidden           int     // columns of a hidden layer, all heads together
	Heads            int     // GAT and GATv2
	Alpha            float64 // APPNP and GCNII: share of H⁰ in what a layer sums
	Theta            float64 // GCNII: layer ℓ = 1, 2, … has the share log(θ/ℓ + 1) of its weight
	Norm             string  // between layers, one of Norms; "": NormLayer
	Residual         bool    // hidden layers behind the first add what they read
	JK               string  // what of all layers a Linear makes the logits of, one of JKs; "": JKNone
	Activation       Op      // "": ReLU
	Dropout          float64
	DropFeatures     bool    // of GCN, GraphSAGE, GIN, GAT and GATv2: they read dropout(X)
	AttentionDropout float64 // of GAT and GATv2: probability of dropping a weight of attention
	Loops            string  // what the program makes of self-loops, FullLoops or NoLoops; "": the data set has those that it has
}

// What Arguments.Norm may be.
const (
	NormLayer = "layer" // of a row
	NormBatch = "batch" // of a column over all vertices, in evaluation by running statistics
	NormGraph = "graph" // the same without running statistics, less a share of the mean (Cai et al., ICML 2021)
	NormNone  = "none"
)

// What Arguments.JK may be (Xu et al., ICML 2018).
const (
	JKNone = "none" // the last layer makes the logits
	JKCat  = "cat"  // rows of all layers side by side
	JKMax  = "max"  // the largest of all layers, by column
	JKSum  = "sum"
)

// Norms and JKs list them.
var (
	Norms = []string{NormLayer, NormBatch, NormGraph, NormNone}
	JKs   = []string{JKNone, JKCat, JKMax, JKSum}
)

// Counters of dropout that belong to no layer.
const (
	OriginCounter  = 64 // before the first convolution of APPNP and GCNII
	FeatureCounter = 65
	EdgeCounter    = 128 // of the weights of attention in layer 0; the next layers follow
)

// Builder makes a program of arguments.
type Builder struct {
	Name  string
	Paper string
	Loops string // what its definition makes of self-loops: FullLoops or NoLoops
	Takes string // the settings that it has a use for, as the command's options name them
	make  func(Arguments) (*Program, error)
}

// stacked are the settings of models that stack makes of convolutions.
const stacked = "layers hidden norm residual jk activation dropout drop-features"

// attending are those of models with attention.
const attending = stacked + " heads attention-dropout"

// Builders lists the models that have a name, in the order in which texts name them.
var Builders = []Builder{
	{"gcn", "Kipf and Welling, 2017", FullLoops, stacked, GCN},
	{"sage", "Hamilton et al., 2017", NoLoops, stacked, SAGE},
	{"gin", "Xu et al., 2019", NoLoops, stacked, GIN},
	{"gat", "Veličković et al., 2018", FullLoops, attending, GAT},
	{"gatv2", "Brody et al., 2022", FullLoops, attending, GATv2},
	{"sgc", "Wu et al., 2019", FullLoops, "layers", SGC},
	{"appnp", "Gasteiger et al., 2019", FullLoops, "layers hidden teleport activation dropout", APPNP},
	{"gcnii", "Chen et al., 2020", FullLoops, "layers hidden teleport theta activation dropout", GCNII},
	{"mixhop", "Abu-El-Haija et al., 2019", FullLoops, "layers hidden norm residual activation dropout drop-features", MixHop},
	{"gprgnn", "Chien et al., 2021", FullLoops, "layers hidden teleport activation dropout", GPRGNN},
	{"dirgnn", "Rossi et al., 2023", NoLoops, stacked, DirGNN},
}

// Named returns the model of a name.
func Named(name string) (Builder, error) {
	i := slices.IndexFunc(Builders, func(b Builder) bool { return b.Name == name })
	if i < 0 {
		return Builder{}, fmt.Errorf("no model has the name %q", name)
	}
	return Builders[i], nil
}

// Names lists the models that take a setting; "": all.
func Names(setting string) (names []string) {
	for _, b := range Builders {
		if setting == "" || b.Has(setting) {
			names = append(names, b.Name)
		}
	}
	return names
}

// Has reports whether the model takes a setting.
func (b Builder) Has(setting string) bool { return hasWord(b.Takes, setting) }

// Build makes the program, or says everything that is wrong with the arguments. Lines begin with the setting.
func (b Builder) Build(a Arguments) (*Program, error) {
	if err := b.check(a); err != nil {
		return nil, err
	}
	return b.make(a)
}

// check looks at the arguments that the model takes.
func (b Builder) check(a Arguments) error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	share := func(setting string, x float64) {
		if b.Has(setting) && !(x >= 0 && x <= 1) {
			bad("%s %g is not in [0, 1]", setting, x)
		}
	}
	if a.Layers < 1 || a.Layers > 64 {
		bad("layers %d is not in [1, 64]", a.Layers)
	}
	jumps := a.JK != "" && a.JK != JKNone
	hides := b.Has("hidden") && (!b.Has("jk") || a.Layers > 1 || jumps)
	if hides && (a.Hidden < 1 || a.Hidden > 1<<20) {
		bad("hidden %d is not in [1, 1048576]", a.Hidden)
	}
	if a.In < 1 {
		bad("input width %d is below 1", a.In)
	}
	if a.Out < 1 {
		bad("number of classes %d is below 1", a.Out)
	}
	if jumps && !slices.Contains(JKs, a.JK) {
		bad("jk %q is not one of %s", a.JK, strings.Join(JKs, ", "))
	} else if jumps && !b.Has("jk") {
		bad("model %s has no jumping knowledge", b.Name)
	}
	if b.Has("heads") && a.Heads < 1 {
		bad("heads %d is below 1", a.Heads)
	} else if b.Has("heads") && a.Heads > 1<<20 {
		bad("heads %d is not in [1, 1048576]", a.Heads)
	} else if b.Has("heads") && hides && a.Hidden%a.Heads != 0 {
		bad("hidden %d is not a multiple of heads %d", a.Hidden, a.Heads)
	}
	share("teleport", a.Alpha)
	if b.Has("theta") && !(a.Theta >= 0 && a.Theta <= 1e6) {
		bad("theta %g is not in [0, 1e6]", a.Theta)
	}
	if a.Residual && !b.Has("residual") {
		bad("residuals: model %s has none", b.Name)
	} else if a.Residual && a.Layers < 3 && !(a.Layers == 2 && (jumps || !b.Has("jk"))) {
		bad("residuals: of %d layers none reads and makes hidden rows", a.Layers)
	}
	if a.Norm != "" && !slices.Contains(Norms, a.Norm) {
		bad("norm %q is not one of %s", a.Norm, strings.Join(Norms, ", "))
	} else if (a.Norm == NormBatch || a.Norm == NormGraph) && !b.Has("norm") {
		bad("norm %s: model %s has no norm between layers", a.Norm, b.Name)
	}
	if a.Activation != "" && !slices.Contains(Activations, a.Activation) {
		bad("activation %q is not one of %s, %s, %s, %s", a.Activation, ReLU, LeakyReLU, ELU, Tanh)
	}
	if a.DropFeatures && !b.Has("dropout") {
		bad("model %s drops nothing, so no features", b.Name)
	}
	if !(a.Dropout >= 0 && a.Dropout < 1) {
		bad("dropout %g is not in [0, 1)", a.Dropout)
	}
	if a.AttentionDropout != 0 && !b.Has("attention-dropout") {
		bad("model %s has no attention, so none that is dropped", b.Name)
	} else if !(a.AttentionDropout >= 0 && a.AttentionDropout < 1) {
		bad("attention-dropout %g is not in [0, 1)", a.AttentionDropout)
	}
	return errors.Join(errs...)
}

// builder collects tensors and nodes, which refer to each other by name, in any order.
type builder struct {
	Arguments
	graph   string // that sums are over
	graphs  []Graph
	tensors []Node
	start   map[string][]float64 // of tensors
	nodes   []Node
	in      [][]string
	count   map[Op]int
	x       string // features, perhaps dropped
}

func newBuilder(a Arguments) *builder {
	b := &builder{Arguments: a, graph: "g", graphs: []Graph{{Name: "g", Weight: 1}}, count: map[Op]int{}}
	if a.Loops != "" {
		b.over("a", a.Loops)
	}
	if a.Activation == "" {
		b.Activation = ReLU
	}
	b.x = b.named("x", Node{Op: Input, Attr: defaults(Input)})
	return b
}

// over has sums be over a graph that is made of the one so far.
func (b *builder) over(name, do string) {
	b.graphs = append(b.graphs, Graph{Name: name, Of: b.graph, Do: do, Weight: 1})
	b.graph = name
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
		if what != Number && what != VertexNum {
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

// mean returns what appends means over in-edges of the builder's graph, in which edges have their weights.
func (b *builder) mean() func(x string) string {
	graph, w, n := b.graph, b.constant(EdgeWeight, 0), b.constant(InCount, 0)
	return func(x string) string {
		b.graph = graph
		return b.op(Div, b.propagate(x, w), n)
	}
}

// finish returns the program.
func (b *builder) finish(logits string) (*Program, error) {
	p, err := New(b.In, b.Out)
	if err != nil {
		return nil, err
	}
	for _, g := range b.graphs {
		if err := p.AddGraph(g); err != nil {
			return nil, err
		}
	}
	for _, t := range b.tensors {
		if err := p.AddTensor(t.Name, t.Shape...); err != nil {
			return nil, err
		}
		if x := b.start[t.Name]; x != nil {
			if err := p.StartTensor(t.Name, x); err != nil {
				return nil, err
			}
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
