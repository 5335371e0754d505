package gnn

import (
	"fmt"
	"math"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// fusion makes nodes of a program.
type fusion struct {
	*model.Program
	users, reach, depth []int
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
	f, err := fuseAs(p, false)
	if err == nil || slices.ContainsFunc(p.Nodes, func(n model.Node) bool { return n.Op == model.SoftmaxIn }) {
		return f, err
	}
	return fuseAs(p, true)
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
	f = &fusion{Program: p, users: make([]int, len(p.Nodes)), reach: p.Reach(), depth: p.Depth(),
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
	f.layers = f.depth[p.Logits]
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refused:
			err = r.error
		default:
			panic(r)
		}
	}()
	for i := range p.Nodes {
		f.refuse(i, f.reach[i] < 0 || !p.Reduces(i)) // parts would have to add up
	}
	for i := p.Logits; apart && i >= 0; i-- { // what is summed up has the rows that the depth reads
		r := f.reach[i]
		if f.op(i) == model.Src && r >= 0 {
			r = f.layers - f.depth[i]
		}
		for _, x := range f.Nodes[i].In {
			f.reach[x] = max(f.reach[x], r)
		}
	}
	if n := f.value(p.Logits); n != nil && (n.of != nil || n.gathers != nil) { // the last node makes rows of its own
		last := f.new(p.Logits)
		last.terms = []term{{x: n, coef: 1}}
		f.nodes = append(f.nodes, last)
	}
	return f, f.oneEach()
}

// oneEach reports where there is more than one sum over neighbours at a depth, or none.
func (f *fusion) oneEach() error {
	if f.layers < 1 {
		return fmt.Errorf("the model reads no rows of neighbours: it is no graph neural network")
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
	f.refuse(i, at.Space == model.Vertices && len(at.Shape) == 1)
	if _, ok := f.summed(i); ok && f.apart {
		f.gather(f.depth[i] - 1)
		return f.made[i]
	}
	n := f.new(i)
	z := f.behind(n, i)
	switch {
	case z != i && f.users[z] > 1:
		if n.then.act == gpu.NoActivation && n.then.gamma == "" && n.add == nil {
			n.from = f.rows(z)
		} else {
			n.terms = []term{{x: f.rows(z), coef: 1}}
		}
	case f.attention(n, z):
	default:
		f.sum(n, z)
	}
	f.made[i] = n
	f.nodes = append(f.nodes, n)
	return n
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
	return n.Space == model.Vertices && slices.Equal(n.Shape, []int{cols})
}

// plain reports whether a sum has no factors.
func (f *fusion) plain(i int) bool {
	return !slices.ContainsFunc(f.Nodes[i].Coef, func(c float64) bool { return c != 1 })
}

// sum makes n the sum that value i is.
func (f *fusion) sum(n *node, i int) {
	if _, ok := f.summed(i); ok && f.apart || f.isInput(i) {
		n.terms = []term{{x: f.value(i), coef: 1}}
		return
	}
	if f.beside(n, i) {
		return
	}
	if f.op(i) != model.Add || f.mixed(n, i) || f.blended(i) {
		f.refuse(i, len(n.terms) > 0 || f.term(n, i))
	} else {
		f.add(n, i, 1)
	}
	f.refuse(i, len(n.terms) > 0)
	f.known(n, i)
}

// add adds coef times the sum that value i is to n.
func (f *fusion) add(n *node, i int, coef float64) {
	at := &f.Nodes[i]
	for k, x := range at.In {
		c := coef * at.Coef[k]
		switch once := f.users[x] == 1; {
		case f.op(x) == model.Param:
			f.refuse(i, n.bias == "" && c == 1)
			n.bias = f.tensor(x, n.cols)
		case once && c == 1 && !f.blended(x) && f.term(n, x): // what is blended is all that a node is made of
		case once && f.op(x) == model.Add && !f.blended(x) && !f.biased[x]:
			f.add(n, x, c)
		default:
			f.refuse(x, f.wide(x, n.cols))
			n.terms = append(n.terms, term{x: f.rows(x), coef: c})
		}
	}
}

// known refuses sums over neighbours of features without a product, which are made apart.
func (f *fusion) known(n *node, i int) {
	for _, t := range n.terms {
		f.refuse(i, t.x != nil || !t.graph || t.w != "")
	}
}

// beside makes n values side by side, perhaps with a bias. Products that nobody else reads are made in their columns.
func (f *fusion) beside(n *node, i int) bool {
	at := &f.Nodes[i]
	if at.Op == model.Add && len(at.In) == 2 && f.plain(i) {
		for k, x := range at.In {
			if f.op(x) == model.Param && f.only(at.In[1-k], model.Concat) && f.wide(at.In[1-k], n.cols) {
				n.bias, i = f.tensor(x, n.cols), at.In[1-k]
				break
			}
		}
	}
	if f.op(i) != model.Concat {
		return false
	}
	n.beside = true
	lo := 0
	for _, x := range f.Nodes[i].In {
		at, t := &f.Nodes[x], term{coef: 1, to: lo, cols: f.Nodes[x].Columns()}
		if f.only(x, model.Linear) && len(at.In) == 2 && (n.layer == 0 || !f.isInput(at.In[0])) {
			t.x, t.w = f.value(at.In[0]), f.tensor(at.In[1], t.cols, f.Nodes[at.In[0]].Columns())
		} else {
			t.x = f.rows(x)
		}
		n.terms = append(n.terms, t)
		lo += t.cols
	}
	return true
}

// term adds value i, which has no other reader, to n if it is a product or a sum over neighbours of n's layer.
func (f *fusion) term(n *node, i int) bool {
	at := &f.Nodes[i]
	switch {
	case at.Op == model.Mul:
		for k, x := range at.In {
			if !f.wide(at.In[1-k], n.cols) {
				continue
			}
			if gain, e, ok := f.gain(x); ok {
				n.terms = append(n.terms, term{x: f.rows(at.In[1-k]), coef: 1, gain: gain, at: e})
				return true
			}
			if eps, ok := f.onePlus(x); ok {
				y := f.rows(at.In[1-k])
				n.terms = append(n.terms, term{x: y, coef: 1}, term{x: y, coef: 1, gain: eps})
				return true
			}
		}
		return false
	case at.Op == model.Linear:
		if f.isInput(at.In[0]) && n.layer > 0 { // the first layer makes it
			return false
		}
		if len(at.In) == 3 {
			if n.bias != "" {
				return false
			}
			n.bias = f.tensor(at.In[2], n.cols)
		}
		x := at.In[0]
		f.product(n, x, f.tensor(at.In[1], n.cols, f.Nodes[x].Columns()), f.users[x] == 1)
	case f.blended(i):
		t := f.shared(i)
		f.refuse(i, t.w == "" && !(t.x == nil && t.blends()))
		n.terms = append(n.terms, t)
	case f.wide(i, n.cols) && f.spread(i) && f.depth[i]-1 == n.layer:
		n.terms = append(n.terms, f.neighbours(i))
	default:
		return false
	}
	return true
}

// gain returns the element of a tensor that value i is.
func (f *fusion) gain(i int) (tensor string, at int, ok bool) {
	if f.op(i) == model.Reshape {
		i = f.in(i, 0)
	}
	if f.op(i) == model.Slice && len(f.Nodes[i].Shape) == 1 {
		at = f.Nodes[i].Lo
		ok = f.Nodes[i].Columns() == 1
		i = f.in(i, 0)
	} else {
		ok = f.Nodes[i].Columns() == 1
	}
	return f.Nodes[i].Name, at, ok && f.op(i) == model.Param
}

// product adds value i, which has no other reader if once, times a weight. Values side by side are added one by one,
// each as soon as it exists.
func (f *fusion) product(n *node, i int, w string, once bool) {
	switch {
	case once && f.op(i) == model.Concat && len(n.terms) == 0:
		f.join(n, i, w)
	case once && f.spread(i) && f.depth[i]-1 == n.layer:
		t := f.neighbours(i)
		if t.w != "" {
			t = term{x: f.value(i), coef: 1}
		}
		t.w = w
		n.terms = append(n.terms, t)
	case once && f.op(i) == model.Add && (f.blended(i) || f.scaled(i)) && f.depth[i]-1 == n.layer:
		t := f.shared(i)
		f.refuse(i, t.w == "")
		t.w = w
		f.refuse(i, t.x != nil || !t.blends())
		n.terms = append(n.terms, t)
	default:
		n.terms = append(n.terms, term{x: f.value(i), coef: 1, w: w})
	}
}

// join makes n the product of values side by side and a weight, features first.
func (f *fusion) join(n *node, i int, w string) {
	var parts []term
	lo := 0
	for _, x := range f.Nodes[i].In {
		t := term{x: f.value(x), coef: 1, w: w, lo: lo}
		if lo += f.Nodes[x].Columns(); t.x == nil {
			parts = slices.Insert(parts, 0, t)
		} else {
			parts = append(parts, t)
		}
	}
	n.joins = true
	for k, t := range parts {
		if k == len(parts)-1 {
			n.terms = []term{t}
			break
		}
		part := &node{level: n.level, cols: n.cols, terms: []term{t}, before: n.before, joins: true,
			begin: -1, end: -1}
		if t.x != nil {
			part.layer = t.x.layer
		}
		if n.before != nil { // which it adds to
			part.layer = max(part.layer, n.before.layer)
		}
		if k == 0 {
			part.bias, n.bias = n.bias, ""
		}
		at := len(f.nodes) // as soon as its part is there
		for ; at > 0 && f.nodes[at-1] != t.x && f.nodes[at-1] != n.before; at-- {
		}
		f.nodes = slices.Insert(f.nodes, at, part)
		n.before = part
	}
}

// spread reports whether value i is a sum over neighbours with constant weights, and a part of what reads it.
func (f *fusion) spread(i int) bool {
	if _, ok := f.summed(i); !ok || f.apart {
		return false
	}
	f.adjacency(i)
	return true
}

// adjacency notes how a program sums over neighbours. Sums that are no nodes of their own are all of one kind.
func (f *fusion) adjacency(i int) {
	s, ok := f.summed(i)
	if !ok {
		s = Sum{Graph: f.Nodes[i].Graph}
	}
	if !slices.Contains(f.kinds, s) {
		f.kinds = append(f.kinds, s)
	}
	n := &f.Nodes[i]
	if !f.apart && (len(f.kinds) > 1 || !s.factors(f.Program)) {
		panic(refused{fmt.Errorf("node %q: sums over neighbours differ in graphs or weights%s", n.Name, where(n))})
	}
}

// neighbours returns the term of a sum over neighbours. A product with one reader is moved behind it.
func (f *fusion) neighbours(i int) term {
	x := f.source(i)
	if at := &f.Nodes[x]; f.only(x, model.Linear) && len(at.In) == 2 {
		w := f.tensor(at.In[1], at.Columns(), f.Nodes[at.In[0]].Columns())
		return term{x: f.value(at.In[0]), graph: true, coef: 1, w: w}
	}
	return term{x: f.value(x), graph: true, coef: 1}
}

// blended reports whether value i is c₀·(sum over neighbours) + c₁·x.
func (f *fusion) blended(i int) bool { return f.shares(i) >= 0 && !f.plain(i) }

// scaled reports whether value i is a sum over neighbours and x, or (1 + ε)·x.
func (f *fusion) scaled(i int) bool { return f.shares(i) >= 0 && f.plain(i) }

// shares returns which input of value i, the sum of two, is a sum over neighbours; −1: none.
func (f *fusion) shares(i int) int {
	if f.op(i) != model.Add || len(f.Nodes[i].In) != 2 {
		return -1
	}
	return slices.IndexFunc(f.Nodes[i].In, func(x int) bool {
		return f.users[x] == 1 && f.wide(x, f.Nodes[i].Columns()) && f.spread(x)
	})
}

// shared returns the term that is blended or scaled.
func (f *fusion) shared(i int) term {
	at, k := &f.Nodes[i], f.shares(i)
	t := f.neighbours(at.In[k])
	t.coef = at.Coef[k]
	x, c := at.In[1-k], at.Coef[1-k]
	m := &match{fusion: f, ok: f.plain(i)}
	gain, y := m.either(x, model.Mul, func(x int) bool { return f.Nodes[x].Space == model.Global })
	eps, ok := f.onePlus(gain)
	switch {
	case m.ok && ok:
		t.own = &own{x: f.value(y), coef: 1, eps: eps}
		f.refuse(x, m.ok && t.own.x == t.x)
	case c != 0 || t.coef != 1:
		f.refuse(x, f.wide(x, at.Columns()))
		t.own = &own{x: f.value(x), coef: c}
		f.refuse(x, t.own.x != nil || t.x == nil && t.coef == 1)
	}
	return t
}

// onePlus returns the tensor ε of value i if that is 1 + ε.
func (f *fusion) onePlus(i int) (eps string, ok bool) {
	m := &match{fusion: f, ok: f.op(i) == model.Add}
	one, e := m.either(i, model.Add, func(x int) bool { return f.op(x) == model.Const && f.Nodes[x].Value == 1 })
	eps = m.tensor(e)
	return eps, m.ok && f.Nodes[one].What == model.Number && f.Nodes[e].Columns() == 1
}

// mixed makes (1−β)·s + β·s·W the product of s and one matrix.
func (f *fusion) mixed(n *node, i int) bool {
	at := &f.Nodes[i]
	if len(at.In) != 2 || f.op(at.In[1]) != model.Product || math.Abs(at.Coef[0]+at.Coef[1]-1) > 1e-12 {
		return false
	}
	if m := &f.Nodes[at.In[1]]; m.In[0] != at.In[0] || m.Spec != "ni,ij->nj" {
		return false
	}
	f.product(n, at.In[0], f.tensor(f.in(at.In[1], 1), n.cols, n.cols), f.users[at.In[0]] == 2)
	t := &n.terms[len(n.terms)-1]
	f.refuse(i, t.x != nil && !n.joins)
	t.mix, t.beta = true, at.Coef[1]
	return true
}
