package gnn

import (
	"fmt"
	"math"
	"slices"

	"capgnn/model"
)

// hoisting rewrites a program so that edges have to do only what needs both ends: what is made of one end alone is made of vertices
// first, a softmax over in-edges becomes exponentials of differences from the largest, and factors of targets come behind sums.
type hoisting struct {
	*model.Program
	is    []int           // by node of the old program
	edges []products      // by node of the new one, of edges
	names map[string]bool // of the new one
}

// products is a value of edges: what is multiplied, each −1 if there is none.
type products struct {
	weight int   // a constant of edges
	dst    []int // vertices or values for all: of targets
	src    int   // vertices: of sources
	mixed  int   // a value of edges that is made of both ends
}

// hoisted returns the same function as p.
func hoisted(p *model.Program) *model.Program {
	h, constants := &hoisting{Program: &model.Program{}, names: map[string]bool{}}, p.Constants()
	*h.Program = *p
	h.Nodes = nil
	for i := range p.Nodes {
		n := p.Nodes[i]
		n.In = slices.Clone(n.In)
		for k, x := range n.In {
			n.In[k] = h.is[x]
		}
		if n.Space.Graph() != "" && constants[i] != model.NoConstant {
			h.is = append(h.is, h.put(n, products{weight: len(h.Nodes), src: -1, mixed: -1}))
			continue
		}
		h.is = append(h.is, h.take(n))
	}
	h.Logits = h.is[p.Logits]
	return h.Program
}

// put appends a node.
func (h *hoisting) put(n model.Node, edges ...products) int {
	none := products{weight: -1, src: -1, mixed: -1}
	i := len(h.Nodes)
	if h.names[n.Name] { // errors show what is before the 0
		n.Name = fmt.Sprintf("%.45s\x00 %d", n.Name, i)
	}
	h.names[n.Name] = true
	if edges == nil && n.Space.Graph() != "" {
		none.mixed = i
	}
	h.Nodes = append(h.Nodes, n)
	h.edges = append(h.edges, append(edges, none)[0])
	return i
}

// end returns value i of edges as one of vertices, or of all: that of their sources or of their targets alone.
func (h *hoisting) end(i int, op model.Op) (v int, ok bool) {
	if h.Nodes[i].Space == model.Global {
		return i, true
	}
	if h.Nodes[i].Op != op {
		return 0, false
	}
	return h.Nodes[i].In[0], true
}

// take appends a node of the old program, whose inputs are numbers of the new one, and returns its number.
func (h *hoisting) take(n model.Node) int {
	switch e := n.Space.Graph(); {
	case n.Op == model.Src || n.Op == model.Dst:
		p := products{weight: -1, src: -1, mixed: -1}
		if n.Op == model.Src {
			p.src = n.In[0]
		} else {
			p.dst = n.In
		}
		return h.put(n, p)
	case n.Op == model.SumIn:
		return h.sum(n)
	case e == "" && n.Op == model.Div && h.Nodes[n.In[1]].What == model.InCount && h.Nodes[n.In[0]].Op == model.Mul:
		return h.mean(n)
	case e == "" || n.Op == model.Dropout:
	case n.Op == model.SoftmaxIn:
		return h.softmax(n)
	default:
		for _, op := range []model.Op{model.Src, model.Dst} {
			if i, ok := h.ofEnd(n, op); ok {
				return i
			}
		}
		switch n.Op {
		case model.Add:
			return h.add(n)
		case model.Div:
			by := &h.Nodes[n.In[1]]
			n.Op, n.In[1] = model.Mul, h.take(model.Node{Name: n.Name, Op: model.Power, In: n.In[1:], Attr: model.Attr{Exponent: -1},
				Space: by.Space, Shape: by.Shape, Line: n.Line})
			fallthrough
		case model.Mul:
			return h.put(n, h.times(n))
		}
	}
	return h.put(n)
}

// ofEnd makes a value of edges of vertices, if it is made of their sources or of their targets alone.
func (h *hoisting) ofEnd(n model.Node, op model.Op) (int, bool) {
	v, read := n, false
	v.In, v.Space = nil, model.Vertices
	for _, x := range n.In {
		y, ok := h.end(x, op)
		if !ok {
			return 0, false
		}
		read = read || y != x
		v.In = append(v.In, y)
	}
	if !read {
		return 0, false
	}
	return h.take(model.Node{Name: n.Name, Op: op, In: []int{h.put(v)}, Attr: model.Attr{Graph: n.Space.Graph()}, Space: n.Space, Shape: n.Shape,
		Line: n.Line}), true
}

// mean makes the mean of a product that of its first factor, if this is a sum over in-edges.
func (h *hoisting) mean(n model.Node) int {
	m := h.Nodes[n.In[0]]
	if x := &h.Nodes[m.In[0]]; x.Op != model.SumIn && x.Op != model.Mul {
		return h.put(n)
	}
	n.In = []int{m.In[0], n.In[1]}
	n.Shape = h.Nodes[m.In[0]].Shape
	return h.product(n, h.take(n), m.In[1])
}

// add makes a sum of values of edges one of a value of targets, one of sources and others.
func (h *hoisting) add(n model.Node) int {
	parts := map[model.Op]*model.Node{}
	rest := model.Node{Name: n.Name, Op: n.Op, Space: n.Space, Shape: n.Shape, Line: n.Line}
	n = h.flat(n)
	for k, x := range n.In {
		at := &h.Nodes[x]
		op, v := at.Op, x
		if op == model.Src || op == model.Dst {
			v = at.In[0]
		} else if at.Space == model.Global {
			op = model.Src
		}
		if at.Space != model.Global && v == x || !slices.Equal(at.Shape, n.Shape) && at.Space != model.Global {
			rest.In, rest.Coef = append(rest.In, x), append(rest.Coef, n.Coef[k])
			continue
		}
		if parts[op] == nil {
			parts[op] = &model.Node{Name: n.Name, Op: model.Add, Space: model.Vertices, Shape: n.Shape, Line: n.Line}
		}
		parts[op].In, parts[op].Coef = append(parts[op].In, v), append(parts[op].Coef, n.Coef[k])
	}
	for _, op := range []model.Op{model.Dst, model.Src} {
		p := parts[op]
		if p == nil {
			continue
		}
		if !slices.ContainsFunc(p.In, func(x int) bool { return h.Nodes[x].Space == model.Vertices }) { // numbers alone
			return h.put(n)
		}
		v := p.In[0]
		if len(p.In) > 1 || p.Coef[0] != 1 {
			v = h.put(*p)
		}
		e := model.Node{Name: n.Name, Op: op, In: []int{v}, Attr: model.Attr{Graph: n.Space.Graph()}, Space: n.Space, Shape: n.Shape, Line: n.Line}
		rest.In, rest.Coef = append(rest.In, h.take(e)), append(rest.Coef, 1)
	}
	return h.put(rest)
}

// flat returns a sum of values of edges with the terms of those that are sums.
func (h *hoisting) flat(n model.Node) model.Node {
	in, coef := n.In, n.Coef
	n.In, n.Coef = nil, nil
	for k, x := range in {
		if at := &h.Nodes[x]; at.Op == model.Add && at.Space == n.Space && slices.Equal(at.Shape, n.Shape) {
			for j, y := range at.In {
				n.In, n.Coef = append(n.In, y), append(n.Coef, coef[k]*at.Coef[j])
			}
			continue
		}
		n.In, n.Coef = append(n.In, x), append(n.Coef, coef[k])
	}
	return n
}

// times returns the factors of a product of edges.
func (h *hoisting) times(n model.Node) products {
	p := products{weight: -1, src: -1, mixed: -1}
	for _, x := range n.In {
		q := h.edges[x]
		if h.Nodes[x].Space == model.Global {
			q.dst = append(q.dst, x)
		}
		p.dst = slices.Concat(p.dst, q.dst)
		if p.weight >= 0 && q.weight >= 0 || p.mixed >= 0 && q.mixed >= 0 {
			return products{weight: -1, src: -1, mixed: len(h.Nodes)}
		}
		p.weight, p.mixed = max(p.weight, q.weight), max(p.mixed, q.mixed)
		switch {
		case q.src >= 0 && p.src >= 0:
			p.src = h.product(n, p.src, q.src)
		case q.src >= 0:
			p.src = q.src
		}
	}
	return p
}

// product appends that of two values of vertices.
func (h *hoisting) product(n model.Node, a, b int) int {
	return h.put(model.Node{Name: n.Name, Op: model.Mul, In: []int{a, b}, Space: model.Vertices, Shape: h.shape(a, b), Line: n.Line})
}

// shape returns that of two values of which one may have fewer columns.
func (h *hoisting) shape(a, b int) []int {
	if h.Nodes[a].Columns() < h.Nodes[b].Columns() {
		a = b
	}
	return h.Nodes[a].Shape
}

// sum appends a sum over in-edges, and behind it factors of targets.
func (h *hoisting) sum(n model.Node) int {
	e, p := n.In[0], h.edges[n.In[0]]
	if len(p.dst) == 0 || p.src < 0 && p.mixed < 0 {
		return h.put(n)
	}
	var in []int
	edge := func(op model.Op, x int) int {
		return h.put(model.Node{Name: n.Name, Op: op, In: []int{x}, Attr: model.Attr{Graph: n.Graph}, Space: h.Nodes[e].Space, Shape: h.Nodes[x].Shape, Line: n.Line})
	}
	if p.weight >= 0 {
		in = append(in, p.weight)
	}
	if p.mixed >= 0 {
		in = append(in, p.mixed)
	}
	if p.src >= 0 {
		in = append(in, edge(model.Src, p.src))
	}
	x := in[0]
	for _, y := range in[1:] {
		x = h.put(model.Node{Name: n.Name, Op: model.Mul, In: []int{x, y}, Space: h.Nodes[e].Space, Shape: h.shape(x, y), Line: n.Line})
	}
	p.dst = nil
	h.edges[x] = p
	sum := n
	sum.In, sum.Shape = []int{x}, h.Nodes[x].Shape
	i := h.put(sum)
	for _, v := range h.edges[e].dst {
		i = h.product(n, i, v)
	}
	return i
}

// softmax appends e^(x − m) / Σ e^(x − m), m the largest x over in-edges. A sum is 1 or more where there is an edge.
func (h *hoisting) softmax(n model.Node) int {
	x, e := n.In[0], n.Space
	if i := h.dotted(n, x); i >= 0 {
		return i
	}
	of := func(op model.Op, in []int, space model.Space, a model.Attr) int {
		return h.take(model.Node{Name: n.Name, Op: op, In: in, Attr: a, Space: space, Shape: n.Shape, Line: n.Line})
	}
	g := model.Attr{Graph: n.Graph}
	most := of(model.Stop, []int{of(model.MaxIn, []int{x}, model.Vertices, g)}, model.Vertices, model.Attr{})
	z := of(model.Add, []int{x, of(model.Dst, []int{most}, e, g)}, e, model.Attr{Coef: []float64{1, -1}})
	exp := of(model.Exp, []int{z}, e, model.Attr{})
	sum := of(model.SumIn, []int{exp}, model.Vertices, g)
	sum = of(model.Clamp, []int{sum}, model.Vertices, model.Attr{Low: 0.5, High: math.Inf(1)})
	share := of(model.Power, []int{sum}, model.Vertices, model.Attr{Exponent: -1})
	return of(model.Mul, []int{exp, of(model.Dst, []int{share}, e, g)}, e, model.Attr{})
}
