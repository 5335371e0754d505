package gnn

import (
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// node is a step of a program that devices take in a few operations: a sum of terms and a bias, or what attention makes, and what comes behind it.
type node struct {
	layer  int // that it belongs to, from 0
	level  int // of its rows: those that layer level reads, or for the number of layers those that the last one makes
	cols   int
	terms  []term
	attend *attention // in place of terms
	from   *node      // in place of terms: what is dropped of
	before *node      // a sum of this node too, which has no other reader
	joins  bool       // it is a part of a product with rows side by side, each in a node of its own
	bias   string
	then   *then
	add    *node // is added to what then makes

	// In a pass:
	readers []*node
	begin   int       // where layers before made it, its first column among given rows; else -1
	end     int       // where several values are made for the next layers, its first column in their table; else -1
	apart   bool      // its epilogue runs behind its aggregation and not in it
	z       *value    // the sum; behind a norm its normalised rows
	h       *value    // what others read; z itself where function and dropout work in place
	again   *value    // h, made again backward
	rstd    *value    // reciprocal deviations of a norm
	shows   *value    // what is not finite where its rows are not
	grad    *gradient // of h
	late    []func()  // append gradients of weights that read h, which is to be made again first
	copies  []func()  // append shares of gradients that come behind its own
}

// term is Σ x·W, of x itself or summed over neighbours.
type term struct {
	x     *node // nil: the features
	graph bool  // x is summed over in-edges
	coef  float64
	own   *own   // added to that sum
	w     string // tensor; "": none
	lo    int    // its columns from there on, as many as x has
	mix   bool   // W is (1−β)I + βWᵀ
	beta  float64

	// In a pass:
	s      operand // what is multiplied or summed up last: x, A·x with what is added, or x·Wᵀ
	t      *value  // x·Wᵀ
	tHalo  *value  // the same of replicated halo rows
	turned *value  // Wᵀ of a mixture
}

// own is a share of rows in a sum over neighbours: coef·x, or (1 + ε)·x.
type own struct {
	x    *node
	coef float64
	eps  string
}

// then is what follows a sum, each part optional.
type then struct {
	gamma, beta string
	eps         float64
	act         gpu.Activation
	p           float64 // of dropout
	counter     int
}

// reads returns the nodes that a node reads.
func (n *node) reads() (list []*node) {
	for i := range n.terms {
		if list = append(list, n.terms[i].x); n.terms[i].own != nil {
			list = append(list, n.terms[i].own.x)
		}
	}
	if n.attend != nil {
		list = append(list, n.attend.x)
	}
	list = append(list, n.from, n.before, n.add)
	return slices.DeleteFunc(list, func(x *node) bool { return x == nil })
}

// tensors returns the names of those that a node reads.
func (n *node) tensors() (names []string) {
	names = append(names, n.bias)
	if t := n.then; t != nil {
		names = append(names, t.gamma, t.beta)
	}
	for i := range n.terms {
		if names = append(names, n.terms[i].w); n.terms[i].own != nil {
			names = append(names, n.terms[i].own.eps)
		}
	}
	if a := n.attend; a != nil {
		names = append(names, a.w, a.b, a.w2, a.b2, a.aSrc, a.aDst, a.att)
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}

// sums reports whether a node reads x, nil for the features, to sum it up over neighbours.
func (n *node) sums(x *node) bool {
	return n.attend != nil && n.attend.x == x || slices.ContainsFunc(n.terms, func(t term) bool { return t.graph && t.x == x })
}

// readsFeatures reports whether a node reads the features.
func (n *node) readsFeatures() bool {
	return n.sums(nil) || slices.ContainsFunc(n.terms, func(t term) bool { return t.x == nil })
}

// blends reports whether other rows are mixed into a sum over neighbours without a weight.
func (n *node) blends() bool {
	return slices.ContainsFunc(n.terms, func(t term) bool { return t.w == "" && t.own != nil && t.own.eps == "" })
}

// fusion makes nodes of a program.
type fusion struct {
	*model.Program
	users, reach, depth []int
	layers              int
	made                map[int]*node
	nodes               []*node
	drop                *then // of features
}

// refused is a program that no operations are known for.
type refused struct{ error }

// fuse returns the nodes of a program in the order in which they run, and the dropout of features, nil if there is none.
func fuse(p *model.Program) (nodes []*node, drop *then, err error) {
	f := &fusion{Program: p, users: make([]int, len(p.Nodes)), reach: p.Reach(), depth: p.Depth(), made: map[int]*node{}}
	for i, n := range p.Nodes {
		for _, k := range n.In {
			if f.reach[i] >= 0 {
				f.users[k]++
			}
		}
	}
	f.layers = f.depth[p.Logits]
	defer func() {
		if r, ok := recover().(refused); ok {
			err = r.error
		}
	}()
	f.value(p.Logits)
	return f.nodes, f.drop, nil
}

func (f *fusion) refuse(i int) {
	n := &f.Nodes[i]
	panic(refused{fmt.Errorf("node %q: this %s is no operation of capgnn  (%s)", n.Name, n.Op, n.Line)})
}

// in returns input k of a node.
func (f *fusion) in(i, k int) int { return f.Nodes[i].In[k] }

func (f *fusion) op(i int) model.Op { return f.Nodes[i].Op }

// only reports whether value i is of an operation and has one reader.
func (f *fusion) only(i int, op model.Op) bool { return f.op(i) == op && f.users[i] == 1 }

// value returns the node that makes value i, nil for the features.
func (f *fusion) value(i int) *node {
	if n, ok := f.made[i]; ok {
		return n
	}
	if f.isInput(i) {
		return nil
	}
	at := &f.Nodes[i]
	n := &node{layer: max(0, f.depth[i]-1), level: f.layers - f.reach[i], cols: at.Columns(), begin: -1, end: -1}
	z := f.behind(n, i)
	switch {
	case z != i && f.users[z] > 1:
		n.from = f.value(z)
	case f.attention(n, z):
	default:
		f.sum(n, z, 1)
	}
	if n.add != nil && n.then == nil {
		f.refuse(i)
	}
	f.made[i] = n
	f.nodes = append(f.nodes, n)
	return n
}

// isInput reports whether value i is the features, or what dropout leaves of them: then this has to be all that is read.
func (f *fusion) isInput(i int) bool {
	if f.op(i) == model.Dropout && f.op(f.in(i, 0)) == model.Input {
		if f.users[f.in(i, 0)] > 1 {
			f.refuse(i)
		}
		f.drop = &then{p: f.Nodes[i].P, counter: f.Nodes[i].Counter}
		return true
	}
	return f.op(i) == model.Input
}

// behind takes norm, function, dropout and what is added behind them off value i and returns what they are made of.
func (f *fusion) behind(n *node, i int) int {
	peel := func(ops ...model.Op) (int, bool) {
		if (n.then != nil || n.add != nil) && f.users[i] > 1 || !slices.Contains(ops, f.op(i)) {
			return 0, false
		}
		if n.then == nil {
			n.then = &then{}
		}
		at := i
		i = f.in(i, 0)
		return at, true
	}
	if f.op(i) == model.Add && len(f.Nodes[i].In) == 2 && f.plain(i) && f.ends(f.in(i, 0)) {
		n.add = f.value(f.in(i, 1))
		i = f.in(i, 0)
	}
	if at, ok := peel(model.Dropout); ok {
		n.then.p, n.then.counter = f.Nodes[at].P, f.Nodes[at].Counter
	}
	if at, ok := peel(model.ReLU, model.LeakyReLU, model.ELU, model.Tanh); ok {
		n.then.act = map[model.Op]gpu.Activation{model.ReLU: gpu.ReLU, model.LeakyReLU: gpu.LeakyReLU, model.ELU: gpu.ELU, model.Tanh: gpu.Tanh}[f.op(at)]
	}
	if at, ok := peel(model.LayerNorm); ok {
		n.then.gamma, n.then.beta, n.then.eps = f.Nodes[f.in(at, 1)].Name, f.Nodes[f.in(at, 2)].Name, f.Nodes[at].Eps
	}
	return i
}

// ends reports whether a value with one reader ends with a function or dropout.
func (f *fusion) ends(i int) bool {
	return f.users[i] == 1 && (f.op(i) == model.Dropout || f.op(i).IsFunction())
}

// plain reports whether a sum has no factors.
func (f *fusion) plain(i int) bool {
	return !slices.ContainsFunc(f.Nodes[i].Coef, func(c float64) bool { return c != 1 })
}

// sum adds coef times value i to the terms of n.
func (f *fusion) sum(n *node, i int, coef float64) {
	at := &f.Nodes[i]
	switch {
	case at.Op == model.Add && f.mixed(n, i):
	case at.Op == model.Add && len(at.In) == 2 && f.spread(at.In[0]) && !f.plain(i):
		n.terms = append(n.terms, f.shared(i))
	case at.Op == model.Add:
		for k, x := range at.In {
			if f.op(x) == model.Param {
				n.bias = f.Nodes[x].Name
			} else {
				f.sum(n, x, coef*at.Coef[k])
			}
		}
	case coef != 1:
		f.refuse(i)
	case at.Op == model.Linear:
		if len(at.In) == 3 {
			n.bias = f.Nodes[at.In[2]].Name
		}
		f.product(n, at.In[0], f.Nodes[at.In[1]].Name, f.users[at.In[0]] == 1)
	case f.spread(i):
		n.terms = append(n.terms, f.neighbours(i))
	default:
		f.refuse(i)
	}
}

// product adds value i, which has no other reader if once, times a weight. Values side by side are added one by one, each as soon as it exists.
func (f *fusion) product(n *node, i int, w string, once bool) {
	switch {
	case once && f.op(i) == model.Concat:
		lo := 0
		n.joins = true
		for k, x := range f.Nodes[i].In {
			t := term{x: f.value(x), coef: 1, w: w, lo: lo}
			lo += f.Nodes[x].Columns()
			if k == len(f.Nodes[i].In)-1 {
				n.terms = []term{t}
				break
			}
			part := &node{layer: t.x.layer, level: n.level, cols: n.cols, terms: []term{t}, before: n.before, joins: true, begin: -1, end: -1}
			if k == 0 {
				part.bias, n.bias = n.bias, ""
			}
			f.nodes = append(f.nodes, part)
			n.before = part
		}
	case once && f.spread(i):
		t := f.neighbours(i)
		if t.w != "" {
			f.refuse(i)
		}
		t.w = w
		n.terms = append(n.terms, t)
	case once && f.op(i) == model.Add && f.spread(f.in(i, 0)):
		t := f.shared(i)
		t.w = w
		n.terms = append(n.terms, t)
	default:
		n.terms = append(n.terms, term{x: f.value(i), coef: 1, w: w})
	}
}

// spread reports whether value i is a sum over neighbours with constant weights.
func (f *fusion) spread(i int) bool {
	if f.op(i) == model.Div && f.Nodes[f.in(i, 1)].What == model.InCount {
		i = f.in(i, 0)
	}
	if f.op(i) != model.SumIn {
		return false
	}
	e := f.in(i, 0)
	return f.op(e) == model.Src || f.op(e) == model.Mul && f.op(f.in(e, 0)) == model.Const && f.op(f.in(e, 1)) == model.Src
}

// neighbours returns the term of a sum over neighbours. A product with one reader is moved behind it.
func (f *fusion) neighbours(i int) term {
	for f.op(i) != model.Src {
		k := 0
		if f.op(i) == model.Mul {
			k = 1
		}
		i = f.in(i, k)
	}
	x := f.in(i, 0)
	if f.only(x, model.Linear) && len(f.Nodes[x].In) == 2 {
		return term{x: f.value(f.in(x, 0)), graph: true, coef: 1, w: f.Nodes[f.in(x, 1)].Name}
	}
	return term{x: f.value(x), graph: true, coef: 1}
}

// shared returns the term c₀·(sum over neighbours) + c₁·x, or that sum + (1 + ε)·x.
func (f *fusion) shared(i int) term {
	at := &f.Nodes[i]
	t := f.neighbours(at.In[0])
	t.coef = at.Coef[0]
	x := at.In[1]
	switch m := &f.Nodes[x]; {
	case len(at.In) != 2:
		f.refuse(i)
	case m.Op == model.Mul && f.op(m.In[1]) == model.Add && t.coef == 1 && at.Coef[1] == 1:
		t.own = &own{x: f.value(m.In[0]), coef: 1, eps: f.Nodes[f.in(m.In[1], 1)].Name}
	case at.Coef[1] != 0:
		t.own = &own{x: f.value(x), coef: at.Coef[1]}
	}
	return t
}

// mixed makes (1−β)·s + β·s·W the product of s and one matrix.
func (f *fusion) mixed(n *node, i int) bool {
	at := &f.Nodes[i]
	if len(at.In) != 2 || f.op(at.In[1]) != model.Product || f.in(at.In[1], 0) != at.In[0] || f.Nodes[at.In[1]].Spec != "ni,ij->nj" {
		return false
	}
	f.product(n, at.In[0], f.Nodes[f.in(at.In[1], 1)].Name, f.users[at.In[0]] == 2)
	t := &n.terms[len(n.terms)-1]
	t.mix, t.beta = true, at.Coef[1]
	return true
}
