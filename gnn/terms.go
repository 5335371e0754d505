package gnn

import (
	"fmt"
	"math"
	"slices"

	"capgnn/model"
)

// sum makes n the sum that value i is.
func (f *fusion) sum(n *node, i int) {
	if f.gathered(i) || f.isInput(i) {
		n.terms = []term{{x: f.value(i), coef: 1}}
		return
	}
	if f.beside(n, i) || f.between(n, i) {
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
		case f.op(x) == model.Const && f.Nodes[x].What == model.Number:
			n.shift += c * f.Nodes[x].Value
		case f.op(x) == model.Param && n.bias == "" && c == 1 && slices.Equal(f.Nodes[x].Shape, []int{n.cols}):
			n.bias = f.tensor(x, n.cols)
		case once && c == 1 && !f.blended(x) && f.term(n, x): // what is blended is all that a node is made of
		case once && f.op(x) == model.Add && !f.blended(x) && !f.biased[x]:
			f.add(n, x, c)
		case f.Nodes[x].Space == model.Global:
			n.terms = append(n.terms, term{x: f.fitted(x, i, false), coef: c})
		default:
			n.terms = append(n.terms, term{x: f.fitted(x, i, true), coef: c})
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
	if f.op(i) != model.Concat || !f.lies(i, f.Nodes[i].Axis) {
		return false
	}
	n.beside = true
	lo := 0
	for _, x := range f.Nodes[i].In {
		at, t := &f.Nodes[x], term{coef: 1, to: lo, cols: f.Nodes[x].Columns()}
		if f.only(x, model.Linear) && f.byTensor(x) && len(at.In) == 2 && (n.layer == 0 || !f.isInput(at.In[0])) {
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
	case at.Op == model.Linear && f.byTensor(i):
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
	f.counts(s)
	n := &f.Nodes[i]
	if !f.apart && (len(f.kinds) > 1 || !s.factors(f.Program)) {
		panic(refused{fmt.Errorf("node %q: sums over neighbours differ in graphs or weights%s", n.Name, where(n))})
	}
}

// counts notes a kind of sums.
func (f *fusion) counts(s Sum) {
	if !slices.Contains(f.kinds, s) {
		f.kinds = append(f.kinds, s)
	}
}

// neighbours returns the term of a sum over neighbours. A product with one reader is moved behind it.
func (f *fusion) neighbours(i int) term {
	x := f.source(i)
	if at := &f.Nodes[x]; f.only(x, model.Linear) && f.byTensor(x) && len(at.In) == 2 {
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
	in := f.Nodes[i].In
	return slices.IndexFunc(in, func(x int) bool {
		return f.Nodes[in[0]].Space == f.Nodes[in[1]].Space && f.users[x] == 1 && f.wide(x, f.Nodes[i].Columns()) && f.spread(x)
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
