package gnn

import (
	"cmp"
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// fusion makes nodes of a program.
type fusion struct {
	*model.Program
	users, reach, depth []int
	constants           []int  // their degrees
	biased              []bool // sums that have a bias
	layers              int
	made                map[int]*node
	nodes               []*node
	drop                *then // of features
	copied              *node // a copy of features
	apart               bool  // sums over neighbours are nodes of their own, those of a depth together
	kinds               []Sum // of sums over neighbours
}

// fuse returns the nodes of a program in the order in which they run, with the dropout of features and the kinds of
// its sums. Where sums cannot be parts of the nodes that read them, all of them are apart.
func fuse(p *model.Program) (*fusion, error) {
	p = plain(p)
	low, err := lowered(p)
	if err != nil {
		return nil, err
	}
	f, err := fuseAs(low, false)
	if err == nil {
		return f, nil
	}
	if low, other := lowered(hoisted(p)); other == nil {
		if g, other := fuseAs(low, true); other == nil || !attends(p) {
			return g, other
		}
	}
	return f, err
}

// attends reports whether a program has a softmax over in-edges that is not by column, so that it was to be attention.
func attends(p *model.Program) bool {
	return slices.ContainsFunc(p.Nodes, func(n model.Node) bool {
		if n.Op == model.SoftmaxIn {
			return len(n.Shape) != 1 || n.Shape[0] == 1
		}
		return n.Op == model.Reshape && p.Nodes[n.In[0]].Op == model.SoftmaxIn
	})
}

// plain returns a program in which dropout that drops nothing is what it reads, and every input is the first.
func plain(p *model.Program) *model.Program {
	q, is, first := *p, make([]int, len(p.Nodes)), -1
	q.Nodes = slices.Clone(p.Nodes)
	for i := range q.Nodes {
		n := &q.Nodes[i]
		is[i], n.In = i, slices.Clone(n.In)
		for k, x := range n.In {
			n.In[k] = is[x]
		}
		switch {
		case n.Op == model.Dropout && n.P == 0:
			is[i] = n.In[0]
		case n.Op == model.Input && first < 0:
			first = i
		case n.Op == model.Input:
			is[i] = first
		}
	}
	q.Logits = is[p.Logits]
	return &q
}

// fuseAs is fuse with sums apart or not.
func fuseAs(p *model.Program, apart bool) (f *fusion, err error) {
	f = &fusion{Program: p, users: make([]int, len(p.Nodes)), reach: hops(p), depth: p.Depth(), constants: p.Constants(),
		biased: make([]bool, len(p.Nodes)), made: map[int]*node{}, apart: apart}
	for i, n := range p.Nodes {
		for _, k := range n.In {
			if f.reach[i] >= 0 {
				f.users[k]++
			}
			linear := f.op(k) == model.Linear && len(f.Nodes[k].In) == 3
			f.biased[i] = f.biased[i] || n.Op == model.Add && (linear || f.op(k) == model.Param || f.biased[k])
		}
	}
	f.layers = max(1, f.depth[p.Logits])
	defer func() { err = cmp.Or(caught(recover()), err) }()
	for i := p.Logits; apart && i >= 0; i-- { // what is summed up has the rows that the depth reads
		r := f.reach[i]
		if slices.Contains([]model.Op{model.Src, model.SumIn, model.MaxIn}, f.op(i)) && r >= 0 {
			r = f.layers - f.depth[i]
		}
		for _, x := range f.Nodes[i].In {
			f.reach[x] = max(f.reach[x], r)
		}
	}
	if n := f.value(p.Logits); n != nil && (n.of != nil || n.gathers != nil || n.message != nil) { // the last node makes rows of its own
		last := f.new(p.Logits)
		last.terms = []term{{x: n, coef: 1}}
		f.nodes = append(f.nodes, last)
	}
	return f, f.oneEach()
}

// oneEach reports where there is more than one sum over neighbours at a depth, or none, in a program that reads rows of
// neighbours.
func (f *fusion) oneEach() error {
	if f.depth[f.Logits] == 0 {
		return nil
	}
	if f.layers > maxLayers {
		return fmt.Errorf("rows of neighbours are read %d times one behind the other, more than %d", f.layers, maxLayers)
	}
	found := make([]int, f.layers)
	for _, n := range f.nodes {
		for i := range n.terms {
			if n.terms[i].graph {
				found[n.layer]++
			}
		}
		if n.attend != nil || n.gathers != nil {
			found[n.layer]++
		}
	}
	for l, n := range found {
		if n > 1 {
			return fmt.Errorf("rows of neighbours are read by two sums at depth %d, and the model has attention: capgnn makes one", l)
		} else if n < 1 {
			return fmt.Errorf("no sum over neighbours is at depth %d", l)
		}
	}
	return nil
}

// in returns input k of a node.
func (f *fusion) in(i, k int) int { return f.Nodes[i].In[k] }

func (f *fusion) op(i int) model.Op { return f.Nodes[i].Op }

// only reports whether value i is of an operation and has one reader.
func (f *fusion) only(i int, op model.Op) bool { return f.op(i) == op && f.users[i] == 1 }

// tensor returns the name of tensor i, of that shape.
func (f *fusion) tensor(i int, shape ...int) string {
	if f.op(i) == model.Stop && frozen(f.Program, f.in(i, 0)) {
		i = f.in(i, 0)
	}
	n := &f.Nodes[i]
	f.refuse(i, n.Op == model.Param, fmt.Sprintf("%s is read in place of a tensor: read the tensor itself", n.Op))
	f.refuse(i, slices.Equal(n.Shape, shape), fmt.Sprintf("the tensor has the shape %v: make it %v", n.Shape, shape))
	return f.Nodes[i].Name
}

// new returns a node for value i.
func (f *fusion) new(i int) *node {
	return &node{layer: max(0, f.depth[i]-1), level: f.layers - f.reach[i], cols: f.Nodes[i].Columns(),
		begin: -1, end: -1}
}

// value returns the node that makes value i, nil for the features.
func (f *fusion) value(i int) *node {
	if n, ok := f.made[i]; ok || f.isInput(i) {
		return n
	}
	at := &f.Nodes[i]
	f.refuse(i, at.Space == model.Vertices)
	if f.gathered(i) {
		f.gather(f.depth[i] - 1)
		return f.made[i]
	}
	n := f.new(i)
	z := f.behind(n, i)
	switch {
	case z == i && at.Op == model.Slice && f.lies(at.In[0], at.Axis):
		n.cut, n.lo = f.rows(at.In[0]), at.Lo*n.cols/(at.Hi-at.Lo)
	case z != i && (f.users[z] > 1 || n.then.gamma != "" && f.ends(z)):
		if n.then.act == gpu.NoActivation && n.then.gamma == "" && n.add == nil {
			n.from = f.rows(z)
		} else {
			n.terms = []term{{x: f.rows(z), coef: 1}}
		}
	case !f.apart && f.attention(n, z), f.byMatrix(n, z), f.arrange(n, z), f.mapped(n, z):
	case z == i && at.Op == model.Reshape:
		f.made[i] = f.rows(at.In[0])
		return f.made[i]
	case z != i && f.behindOnly(z):
		n.terms = []term{{x: f.rows(z), coef: 1}}
	default:
		f.sum(n, z)
		for p := n; p.shift != 0 && p.before != nil; p = p.before { // the first part is written, others add
			p.before.shift, p.shift = p.shift, 0
		}
	}
	f.made[i] = n
	f.nodes = append(f.nodes, n)
	return n
}

// behindOnly reports whether value i is a norm, dropout or columns of others, of which no sum is made.
func (f *fusion) behindOnly(i int) bool {
	return slices.Contains([]model.Op{model.LayerNorm, model.BatchNorm, model.Dropout, model.Slice, model.Reshape}, f.op(i))
}

// isInput reports whether value i is the features, or what dropout leaves of them and nobody reads whole.
func (f *fusion) isInput(i int) bool {
	if f.op(i) == model.Dropout && f.op(f.in(i, 0)) == model.Input && f.users[f.in(i, 0)] == 1 {
		f.drop = &then{p: f.Nodes[i].P, counter: f.Nodes[i].Counter}
		return true
	}
	return f.op(i) == model.Input
}

// rows returns the node that makes value i, of the features one of the first layer that copies them.
func (f *fusion) rows(i int) *node {
	if n := f.value(i); n != nil {
		return n
	}
	if f.copied == nil {
		f.copied = f.new(i)
		f.copied.terms = []term{{coef: 1}}
		f.nodes = append(f.nodes, f.copied)
	}
	return f.copied
}

// activation returns the function that value i is of.
func (f *fusion) activation(i int) (act gpu.Activation, ok bool) {
	switch n := &f.Nodes[i]; n.Op {
	case model.ReLU:
		return gpu.ReLU, true
	case model.LeakyReLU:
		return gpu.LeakyReLU, float32(n.Slope) == gpu.LeakySlope
	case model.ELU:
		return gpu.ELU, n.Alpha == 1
	case model.Tanh:
		return gpu.Tanh, true
	}
	return 0, false
}

// behind takes norm, function, dropout and what is added behind them off value i and returns what they are made of.
func (f *fusion) behind(n *node, i int) int {
	t := &then{}
	first := i
	if f.op(i) == model.Add && len(f.Nodes[i].In) == 2 && f.plain(i) {
		for k, x := range f.Nodes[i].In {
			if y := f.in(i, 1-k); f.ends(x) && f.wide(x, n.cols) && f.wide(y, n.cols) && !f.isInput(y) {
				n.add = f.value(y)
				first, i = x, x
				break
			}
		}
	}
	next := func() bool { return i == first || f.users[i] == 1 }
	if f.op(i) == model.Dropout {
		n.then, t.p, t.counter = t, f.Nodes[i].P, f.Nodes[i].Counter
		i = f.in(i, 0)
	}
	if act, ok := f.activation(i); ok && next() {
		n.then, t.act = t, act
		i = f.in(i, 0)
	}
	if at := &f.Nodes[i]; at.Op == model.LayerNorm && next() && len(at.In) == 3 {
		n.then, t.gamma, t.beta, t.eps = t, f.tensor(at.In[1], n.cols), f.tensor(at.In[2], n.cols), at.Eps
		i = at.In[0]
	} else if at.Op == model.BatchNorm && next() && len(at.In) == 5 {
		n.then, t.gamma, t.beta, t.eps = t, f.tensor(at.In[1], n.cols), f.tensor(at.In[2], n.cols), at.Eps
		t.batch = &batch{mean: f.statistic(i, 3), variance: f.statistic(i, 4), momentum: at.Momentum}
		i = at.In[0]
	}
	return i
}

// ends reports whether a value with one reader ends with a function or dropout.
func (f *fusion) ends(i int) bool {
	_, ok := f.activation(i)
	return f.users[i] == 1 && (ok || f.op(i) == model.Dropout && !f.isInput(i))
}

// wide reports whether a value is rows of vertices of so many columns.
func (f *fusion) wide(i, cols int) bool {
	n := &f.Nodes[i]
	return n.Space == model.Vertices && n.Columns() == cols
}

// plain reports whether a sum has no factors.
func (f *fusion) plain(i int) bool {
	return !slices.ContainsFunc(f.Nodes[i].Coef, func(c float64) bool { return c != 1 })
}
