package gnn

import (
	"math"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// message is what edges bring to their targets: Σ w·f(r_v + c_u)⊙x_u by column, or the largest c_u (gpu.MessageArgs).
type message struct {
	mapping       // f
	of      *node // the gathering whose exchange brings c and x
	c, x    int   // numbers among what is gathered; x −1: 1
	r       *node // nil: 0
	kind    int   // of the weights
	most    bool
	dots    *dots // it is attention
	at      int   // first column of what is sent of gradients; −1: there is no gradient

	// In a pass:
	slope *value // Σ w·f'(r_v + c_u)⊙x_u
	minus *value // of the largest, with the opposite sign
	ties  *value // how many are as large
	lse   *value // of attention
}

// edgeSum is a sum, or the largest, of messages, with numbers of values of the program, −1 if there is none.
type edgeSum struct {
	mapping
	Sum
	i, r, c, x int
	most       bool
	dots       *dots
}

// gathered reports whether value i is made by the node of all sums over neighbours of its depth.
func (f *fusion) gathered(i int) bool {
	if !f.apart {
		return false
	}
	_, ok := f.summed(i)
	return ok || f.edgeSum(i) != nil
}

// edgeSum returns how value i is made of messages; nil: it is not, or a sum of sources alone, which summed knows.
func (f *fusion) edgeSum(i int) *edgeSum {
	if _, ok := f.summed(i); ok {
		return nil
	}
	if s := f.dots(i); s != nil {
		return s
	}
	s := &edgeSum{i: i, r: -1, c: -1, x: -1}
	at := &f.Nodes[i]
	if at.Op == model.Div && f.Nodes[at.In[1]].What == model.InCount && f.op(at.In[0]) == model.SumIn && f.Nodes[at.In[1]].Graph == f.Nodes[at.In[0]].Graph {
		s.Mean, at = true, &f.Nodes[at.In[0]]
	}
	if at.Op != model.SumIn && at.Op != model.MaxIn || !f.wide(i, at.Columns()) {
		return nil
	}
	s.Graph, s.most = at.Graph, at.Op == model.MaxIn
	ok := f.factors(s, at.In[0]) && s.c >= 0 && (!s.most || s.What == "" && s.Node == "" && s.x < 0)
	for _, x := range []int{s.r, s.c, s.x} {
		ok = ok && (x < 0 || f.wide(x, at.Columns()))
	}
	if plain := s.r < 0 && s.f == gpu.MapIdentity; !ok || s.most && !plain && !f.stopped(i) {
		return nil
	}
	return s
}

// factors takes the factors of a value of edges.
func (f *fusion) factors(s *edgeSum, e int) bool {
	at := &f.Nodes[e]
	m, function := f.function(e)
	switch {
	case at.Op == model.Mul:
		return f.factors(s, at.In[0]) && f.factors(s, at.In[1])
	case at.Space.Graph() != "" && f.constants[e] != model.NoConstant && s.What == "" && s.Node == "":
		s.weigh(at)
		return true
	case at.Op == model.Src && s.most:
		s.c = at.In[0]
		return true
	case at.Op == model.Src && s.x < 0:
		s.x = at.In[0]
		return true
	case function && !m.stops && s.c < 0:
		s.mapping = *m
		return f.ends2(s, at.In[0])
	case s.c < 0:
		return f.ends2(s, e)
	}
	return false
}

// ends2 takes a value of edges that is a sum of one of their targets and one of their sources.
func (f *fusion) ends2(s *edgeSum, e int) bool {
	at := &f.Nodes[e]
	if at.Op != model.Add || len(at.In) != 2 || !f.plain(e) {
		return false
	}
	for k, x := range at.In {
		if y := at.In[1-k]; f.op(x) == model.Dst && f.op(y) == model.Src {
			s.r, s.c = f.in(x, 0), f.in(y, 0)
			return true
		}
	}
	return false
}

// stopped reports whether no gradient goes into value i.
func (f *fusion) stopped(i int) bool {
	for k := range f.Nodes {
		if n := &f.Nodes[k]; f.reach[k] >= 0 && n.Op != model.Stop && slices.Contains(n.In, i) {
			return false
		}
	}
	return i != f.Logits
}

// message appends the node of messages whose ends the gathering n has.
func (f *fusion) message(n *node, s *edgeSum) {
	y := &node{layer: n.layer, level: n.level, cols: f.Nodes[s.i].Columns(), begin: -1, end: -1}
	y.message = &message{mapping: s.mapping, of: n, c: s.c, x: s.x, kind: slices.Index(f.kinds, s.Sum), most: s.most, dots: s.dots, at: -1}
	if s.r >= 0 {
		y.message.r = f.rows(s.r)
	}
	g := n.gathers
	if g.messages = append(g.messages, y); !f.stopped(s.i) {
		y.message.at = g.sent
		g.sent += y.message.sends(y.cols)
	}
	f.made[s.i] = y
	f.nodes = append(f.nodes, y)
}

// first returns the first column of x, by number, of what is gathered.
func (g *gathering) first(c Config, x int) (cols int) {
	for _, n := range g.xs[:x] {
		cols += c.width(n)
	}
	return cols
}

// columnsOf returns what messages read of rows that are gathered; rows that are not there stay so.
func (m *message) columnsOf(c Config, rows gpu.Matrix, x, cols int) gpu.Matrix {
	if x < 0 || rows.Buf == nil {
		return gpu.Matrix{}
	}
	lo := m.of.gathers.first(c, x)
	return rows.ColRange(lo, lo+cols)
}

// messages runs the messages of a node with a function, times x if times says so, into y.
func (x *exec) messages(n *node, y *value, r gpu.Matrix, f mapping, slope, most, times bool) {
	m, g := n.message, n.message.of.gathers
	op, rows := x.graph(n.layer).Forward.kind(m.kind, x.cfg.values()), g.rows.dense(x)
	a := gpu.MessageArgs{Y: *y.m, R: r, Inner: op.Inner, C: m.columnsOf(x.cfg, rows, m.c, n.cols), F: f.f, A: f.a, B: f.b, Slope: slope, Max: most}
	if times {
		a.X = m.columnsOf(x.cfg, rows, m.x, n.cols)
	}
	if g.halo.Rows > 0 {
		a.Halo, a.CHalo = op.Halo, m.columnsOf(x.cfg, g.halo, m.c, n.cols)
		if times {
			a.XHalo = m.columnsOf(x.cfg, g.halo, m.x, n.cols)
		}
	}
	x.q.Messages(a)
}

// message appends a sum, or the largest, of messages, and what their gradients need.
func (d *derivation) message(n *node) {
	if n.message.dots != nil {
		d.attendDots(n)
		return
	}
	m, rows := n.message, d.rowsAt(n.level)
	n.h = n.z
	g, r := m.of.gathers, operand{given: func(*exec) Features { return Features{} }}
	if m.r != nil {
		r = d.read(m.r, n.level)
	}
	d.op(list(g.rows.v, r.v), list(n.z), func(x *exec) {
		x.messages(n, n.z, r.dense(x), m.mapping, false, m.most, true)
		if s := x.graph(n.layer).Forward.RowScale; !m.most && s.Len > 0 {
			x.q.ScaleRows(*n.z.m, *n.z.m, s)
		}
	})
	switch {
	case !d.training() || m.at < 0:
	case m.most:
		m.minus, m.ties = d.wide(rows, n.cols), d.wide(rows, n.cols)
		d.op(list(n.z, g.rows.v), list(m.minus, m.ties), func(x *exec) {
			x.q.Axpby(*m.minus.m, -1, *n.z.m, 0)
			x.messages(n, m.ties, *m.minus.m, mapping{f: gpu.MapZero}, false, false, false)
		})
	default:
		m.slope = d.wide(rows, n.cols)
		d.op(list(g.rows.v, r.v), list(m.slope), func(x *exec) { x.messages(n, m.slope, r.dense(x), m.mapping, true, false, true) })
	}
}

// sent returns what a gathering sends of gradients: dz of its sums, then what its messages have left there.
func (d *derivation) sent(n *node, dz *value) *value {
	g := n.gathers
	d.sending(g)
	if n.cols > 0 {
		to := d.columns(g.back, 0, n.cols)
		d.op(present(list(dz)), list(to), func(x *exec) {
			if dz == nil {
				x.q.Fill(*to.m, 0)
			} else {
				x.q.Copy(*to.m, *dz.m)
			}
		})
	}
	for _, m := range g.messages {
		if at := n.cols + m.message.at; m.message.at >= 0 && m.grad == nil { // nothing but stops reads it
			none := d.columns(g.back, at, m.message.sends(m.cols))
			d.op(nil, list(none), func(x *exec) { x.q.Fill(*none.m, 0) })
		}
	}
	return g.back
}

// sending returns the value of what is sent.
func (d *derivation) sending(g *gathering) *value {
	if g.back == nil {
		n := g.messages[0].message.of
		g.back = d.wide(d.rowsAt(n.level), n.cols+g.sent)
	}
	return g.back
}

// messageBack leaves what sources need of the gradient dy of messages where it is sent, and appends that of r: of the largest dy divided
// by how many are as large, and minus the largest; of others dy and r.
func (d *derivation) messageBack(n *node, dy *value) {
	m, plain := n.message, n.message.of.cols
	switch {
	case m.at < 0:
		return
	case m.dots != nil:
		d.attendDotsBack(n, dy)
		return
	}
	back := d.sending(m.of.gathers)
	g, other := d.columns(back, plain+m.at, n.cols), d.columns(back, plain+m.at+n.cols, n.cols)
	if m.most {
		d.op(list(dy, m.minus, m.ties), list(g, other, m.ties), func(x *exec) {
			x.q.Map(gpu.MapArgs{Dst: *m.ties.m, Src: *m.ties.m, F: gpu.MapClamp, A: 0.25, B: math.MaxFloat32}) // none where there is no edge
			x.q.Map(gpu.MapArgs{Dst: *g.m, Src: *m.ties.m, By: *dy.m, F: gpu.MapReciprocal})
			x.q.Copy(*other.m, *m.minus.m)
		})
		return
	}
	r := d.read(m.r, n.level)
	d.op(list(dy, r.v), list(g, other), func(x *exec) {
		if s := x.graph(n.layer).Forward.RowScale; s.Len > 0 {
			x.q.ScaleRows(*g.m, *dy.m, s)
		} else {
			x.q.Copy(*g.m, *dy.m)
		}
		x.q.Copy(*other.m, r.dense(x))
	})
	s := d.share(m.r, n.level)
	d.op(reading(s.v, s.add, m.slope, g), list(s.v), func(x *exec) {
		x.q.Map(gpu.MapArgs{Dst: s.at(x), Src: *m.slope.m, By: *g.m, Beta: beta(s.add)})
	})
}

// messageToSources adds to the gradients of what is gathered those of messages, whose targets have sent what messageBack says.
func (d *derivation) messageToSources(n *node, sent, all *value) {
	m, g, plain := n.message, n.message.of.gathers, n.message.of.cols
	switch {
	case m.at < 0:
		return
	case m.dots != nil:
		d.dotsToSources(n, sent, all)
		return
	}
	own := func(x *exec, i int) gpu.Matrix { return m.columnsOf(x.cfg, g.rows.dense(x), i, n.cols) }
	run := func(x *exec, y gpu.Matrix, f mapping, slope, add bool) {
		op := x.graph(n.layer).Backward.kind(m.kind, x.cfg.values())
		part := func(rows gpu.Matrix, k int) gpu.Matrix {
			if rows.Rows == 0 {
				return gpu.Matrix{}
			}
			lo := plain + m.at + k*n.cols
			return rows.ColRange(lo, lo+n.cols)
		}
		a := gpu.MessageArgs{Y: y, R: own(x, m.c), Inner: op.Inner, C: part(*sent.m, 1), X: part(*sent.m, 0), F: f.f, A: f.a, B: f.b,
			Slope: slope, Accumulate: add}
		if g.halo.Rows > 0 {
			a.Halo, a.CHalo, a.XHalo = op.Halo, part(g.halo, 1), part(g.halo, 0)
		}
		x.q.Messages(a)
	}
	to := func(x *exec, i int) gpu.Matrix { return m.columnsOf(x.cfg, *all.m, i, n.cols) }
	reads := list(sent, all, g.rows.v)
	if m.most {
		d.op(reads, list(all), func(x *exec) { run(x, to(x, m.c), mapping{f: gpu.MapZero}, false, true) })
		return
	}
	if m.x < 0 {
		d.op(reads, list(all), func(x *exec) { run(x, to(x, m.c), m.mapping, true, true) })
		return
	}
	t := d.wide(d.rowsAt(n.layer), n.cols)
	d.op(reads, list(all, t), func(x *exec) {
		run(x, to(x, m.x), m.mapping, false, true)
		run(x, *t.m, m.mapping, true, false)
		x.q.Map(gpu.MapArgs{Dst: to(x, m.c), Src: *t.m, By: own(x, m.x), Beta: 1})
	})
}
