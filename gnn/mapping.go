package gnn

import (
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// mapping is f(x)⊙by, of rows or of what is made of tensors. Where x or by has one row or column, that is all of them.
type mapping struct {
	f     gpu.Function
	a, b  float32 // its parameters
	x, by *node   // by nil: 1
	stops bool    // no gradient goes through
}

// leaf is one row: elements of a tensor, as many as its node has columns, or without one a number.
type leaf struct {
	tensor string
	at     int
	number float64
	matrix []byte // float32, in place of a number
	stops  bool
}

// function returns the function that value i is of.
func (f *fusion) function(i int) (m *mapping, ok bool) {
	n := &f.Nodes[i]
	m = &mapping{}
	switch n.Op {
	case model.ReLU:
		m.f = gpu.MapLeaky
	case model.LeakyReLU:
		m.f, m.a = gpu.MapLeaky, float32(n.Slope)
	case model.ELU:
		m.f, m.a = gpu.MapELU, float32(n.Alpha)
	case model.Power:
		m.f, m.a = gpu.MapPower, float32(n.Exponent)
	case model.Clamp:
		m.f, m.a, m.b = gpu.MapClamp, float32(n.Low), float32(n.High)
	case model.Stop:
		m.stops = true
	default:
		m.f, ok = functions[n.Op]
		return m, ok
	}
	return m, true
}

var functions = map[model.Op]gpu.Function{
	model.Tanh: gpu.MapTanh, model.GELU: gpu.MapGELU, model.Sigmoid: gpu.MapSigmoid, model.SiLU: gpu.MapSiLU, model.Softplus: gpu.MapSoftplus,
	model.Exp: gpu.MapExp, model.Log: gpu.MapLog, model.Sqrt: gpu.MapSqrt, model.Square: gpu.MapSquare,
}

// mapped makes n the function, product or quotient that value i is, if it is one.
func (f *fusion) mapped(n *node, i int) bool {
	at := &f.Nodes[i]
	m, function := f.function(i)
	_, mean := f.summed(i)
	switch {
	case function:
		m.x = f.fitted(at.In[0], i, false)
	case at.Op == model.Div && !mean:
		by := f.fitted(at.In[0], i, false)
		m = &mapping{f: gpu.MapReciprocal, x: f.fitted(at.In[1], i, false), by: by}
	case at.Op == model.Mul && !f.gains(i):
		m = f.multiplied(i)
	default:
		return false
	}
	n.maps = m
	return true
}

// multiplied returns the product of two values. A function that nothing else reads is made with it.
func (f *fusion) multiplied(i int) *mapping {
	in := f.Nodes[i].In
	for k, x := range in {
		_, ends := f.activation(x)
		same := f.Nodes[x].Columns() == f.Nodes[i].Columns() || f.Nodes[x].Columns() == 1
		if m, ok := f.function(x); ok && same && !ends && !m.stops && f.users[x] == 1 && f.Nodes[x].Space == model.Vertices {
			m.x, m.by = f.fitted(f.in(x, 0), i, false), f.fitted(in[1-k], i, false)
			return m
		}
	}
	return &mapping{x: f.fitted(in[0], i, false), by: f.fitted(in[1], i, false)}
}

// gains reports whether value i is rows times a tensor of one element, which sums have.
func (f *fusion) gains(i int) bool {
	in, cols := f.Nodes[i].In, f.Nodes[i].Columns()
	for k, x := range in {
		_, _, gain := f.gain(x)
		_, eps := f.onePlus(x)
		if (gain || eps) && f.wide(in[1-k], cols) {
			return true
		}
	}
	return false
}

// single returns the node of a value that is made of tensors and numbers, one row that parts make each.
func (f *fusion) single(i int) *node {
	if n := f.made[i]; n != nil {
		return n
	}
	at := &f.Nodes[i]
	n := f.new(i)
	n.single, n.layer, n.level = true, 0, 0
	l, ok := f.leaf(i)
	switch {
	case f.overAll(n, i):
	case at.Op == model.Linear:
		f.refuse(i, len(at.Shape) == 1 && len(f.Nodes[at.In[0]].Shape) == 1)
		if n.terms = []term{{x: f.single(at.In[0]), coef: 1, w: f.tensor(at.In[1], n.cols, f.Nodes[at.In[0]].Columns())}}; len(at.In) == 3 {
			n.bias = f.tensor(at.In[2], n.cols)
		}
	case ok:
		n.leaf = l
	case at.Op == model.Add:
		for k, x := range at.In {
			if f.op(x) == model.Const && f.Nodes[x].What == model.Number {
				n.shift += at.Coef[k] * f.Nodes[x].Value
				continue
			}
			n.terms = append(n.terms, term{x: f.fitted(x, i, true), coef: at.Coef[k]})
		}
	case at.Op == model.Concat && f.lies(i, at.Axis):
		n.beside = true
		lo := 0
		for _, x := range at.In {
			n.terms = append(n.terms, term{x: f.single(x), coef: 1, to: lo, cols: f.Nodes[x].Columns()})
			lo += f.Nodes[x].Columns()
		}
	case at.Op == model.Slice && f.lies(at.In[0], at.Axis):
		n.cut, n.lo = f.single(at.In[0]), at.Lo*f.Nodes[i].Columns()/(at.Hi-at.Lo)
	case at.Op == model.Reshape:
		n = f.single(at.In[0])
		f.made[i] = n
		return n
	case f.arrange(n, i), f.between(n, i):
	default:
		f.refuse(i, f.mapped(n, i), fmt.Sprintf("%s of tensors is not trained: use sums, products and functions of single elements", at.Op))
	}
	f.made[i] = n
	f.nodes = append(f.nodes, n)
	return n
}

// leaf returns the elements of a tensor, or the number, that value i is.
func (f *fusion) leaf(i int) (*leaf, bool) {
	at := &f.Nodes[i]
	switch at.Op {
	case model.Param:
		return &leaf{tensor: at.Name}, true
	case model.Const:
		return &leaf{number: at.Value}, at.What == model.Number
	case model.Stop, model.Reshape, model.Slice:
	default:
		return nil, false
	}
	l, ok := f.leaf(at.In[0])
	if !ok {
		return nil, false
	}
	switch at.Op {
	case model.Stop:
		l.stops = true
	case model.Slice: // elements that lie side by side
		step := 1
		for _, d := range f.Nodes[at.In[0]].Shape[at.Axis+1:] {
			step *= d
		}
		for _, d := range at.Shape[:at.Axis] {
			ok = ok && d == 1
		}
		l.at += at.Lo * step
	}
	return l, ok
}

// frozen reports whether the program reads tensor i behind stops alone.
func frozen(p *model.Program, i int) bool {
	readers := 0
	for k := range p.Nodes {
		if n := &p.Nodes[k]; slices.Contains(n.In, i) {
			if readers++; n.Op != model.Stop {
				return false
			}
		}
	}
	return readers > 0
}

// count counts the rows of a level of what a node makes.
func (d *derivation) count(n *node, level int) count {
	if n.single {
		return number(1)
	}
	return d.rowsAt(level)
}

// args returns what the device computes.
func (m *mapping) args(dst, x gpu.Matrix) gpu.MapArgs {
	return gpu.MapArgs{Dst: dst, Src: x, F: m.f, A: m.a, B: m.b}
}

// mapped appends a function or product.
func (d *derivation) mapped(n *node) {
	m, x, by := n.maps, d.read(n.maps.x, n.level), operand{}
	if m.by != nil {
		by = d.read(m.by, n.level)
	}
	d.op(list(x.v, by.v), list(n.z), func(e *exec) {
		a := m.args(*n.z.m, x.dense(e))
		if m.by != nil {
			a.By = by.dense(e)
		}
		e.q.Map(a)
	})
	d.follow(n)
}

// follow appends what follows a node whose operations cannot end with it.
func (d *derivation) follow(n *node) {
	e := d.ending(n)
	if e.bias.Len > 0 {
		d.op(list(n.z), list(n.z), func(x *exec) { x.q.HeadMean(*n.z.m, *n.z.m, e.bias) }) // of one head: it adds the bias
	}
	if e.then != nil {
		d.op(list(n.z), e.writes, func(x *exec) { x.q.Epilogue(e.then(x)) })
	}
}

// mappedBack appends the gradients of what a function or product reads: dx = f'(x)⊙by⊙dy, dby = f(x)⊙dy.
func (d *derivation) mappedBack(n *node, dy *value) {
	m := n.maps
	if m.stops {
		return
	}
	x, slope := d.read(m.x, n.level), *m
	if m.by == nil {
		d.give(n, m.x, x, dy.all(), slope, true)
		return
	}
	by := d.read(m.by, n.level)
	d.give(n, m.by, x, dy.all(), *m, false)
	if m.f == gpu.MapIdentity {
		d.give(n, m.x, by, dy.all(), mapping{}, false)
		return
	}
	t := d.value(dy.rows, n.cols, gpu.FP32)
	d.op(list(x.v, dy), list(t), func(e *exec) {
		a := slope.args(*t.m, x.dense(e))
		a.By, a.Slope = *dy.m, true
		e.q.Map(a)
	})
	d.give(n, m.x, by, t.all(), mapping{}, false)
}

// give appends f(x)⊙y, or f'(x)⊙y, as a share of the gradient of what a node makes, summed up over n's rows and columns
// where that has one.
func (d *derivation) give(n, to *node, x, y operand, f mapping, slope bool) {
	full := to.single == n.single && to.cols == n.cols
	var s share
	t := d.partial(n, full)
	if full {
		s = d.share(to, n.level)
		t = s.v
	}
	d.op(reading(t, full && s.add, x.v, y.v), list(t), func(e *exec) {
		a := f.args(*t.m, x.dense(e))
		if full {
			a.Dst, a.Beta = s.at(e), beta(s.add)
		}
		a.By, a.Slope = y.dense(e), slope
		e.q.Map(a)
	})
	if full {
		return
	}
	rows, sums := to.single && !n.single, t
	s = d.share(to, n.level)
	if rows && to.cols == n.cols {
		d.op(reading(s.v, s.add, t), list(s.v), func(e *exec) { e.q.ColSum(vector(s.at(e)), *t.m, beta(s.add)) })
		return
	}
	if rows {
		sums = d.value(number(1), n.cols, gpu.FP32)
		d.op(list(t), list(sums), func(e *exec) { e.q.ColSum(vector(*sums.m), *t.m, 0) })
	}
	ones := d.value(number(n.cols), 1, gpu.FP32)
	d.op(reading(s.v, s.add, sums), list(s.v, ones), func(e *exec) {
		e.q.Fill(*ones.m, 1)
		if c := s.at(e); c.Rows > 0 {
			e.q.Gemm(gpu.GemmArgs{C: c, A: *sums.m, B: *ones.m, Beta: beta(s.add)})
		}
	})
}

// partial requests rows to be summed up, unless none are.
func (d *derivation) partial(n *node, none bool) *value {
	if none {
		return nil
	}
	return d.value(d.count(n, n.level), n.cols, gpu.FP32)
}

// vector views a matrix of one row as a vector.
func vector(m gpu.Matrix) gpu.Vec { return gpu.Vec{Buf: m.Buf, Off: m.Off, Len: m.Cols} }

// element view of a leaf's tensor.
func (d *derivation) leafOf(p *Params, n *node) gpu.Matrix {
	return rowOf(d.vec(p, n.leaf.tensor).Slice(n.leaf.at, n.leaf.at+n.cols))
}

// leafBack adds the gradient of a leaf to that of its tensor.
func (d *derivation) leafBack(n *node, g *value) {
	if n.leaf.tensor == "" || n.leaf.stops {
		return
	}
	dst := d.leafOf(d.Pass.grads, n)
	d.op(list(g), nil, func(x *exec) { x.q.Axpby(dst, 1, *g.m, 1) })
}

// cutBack appends a share of the gradient of the rows whose columns a node is.
func (d *derivation) cutBack(n *node, dy *value) {
	s := d.share(n.cut, n.level)
	d.op(reading(s.v, s.add, dy), list(s.v), func(x *exec) {
		to := s.at(x)
		if !s.add {
			x.q.Fill(to, 0)
		}
		x.q.Axpby(to.ColRange(n.lo, n.lo+n.cols), 1, *dy.m, 1)
	})
}

// freeze appends what clears the gradients of tensors that are read behind stops alone.
func (d *derivation) freeze() {
	for i := range d.cfg.Program.Params() {
		if name := d.cfg.Program.Nodes[i].Name; frozen(d.cfg.Program, i) {
			g := rowOf(d.vec(d.Pass.grads, name))
			d.op(nil, nil, func(x *exec) { x.q.Fill(g, 0) })
		}
	}
	d.settle()
}
