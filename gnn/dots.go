package gnn

import (
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// dots says that a message is attention whose scores are products of rows: Σ α·x by head, α a softmax over in-edges of
// ⟨r, c⟩.
type dots struct {
	heads int
	edgeDrop
}

// dotted appends softmax n of the one product by head of a row of targets and one of sources that value x of edges is a
// multiple of. Factors go to the row of targets, which vertices make. −1: x is something else.
func (h *hoisting) dotted(n model.Node, x int) int {
	var factors []int
	scale := 1.0
	for {
		e, at := h.edges[x], &h.Nodes[x]
		if at.Op == model.Add && len(at.In) == 1 {
			scale *= at.Coef[0]
			x = at.In[0]
			continue
		}
		if e.weight >= 0 || e.src >= 0 || e.mixed < 0 {
			return -1
		}
		factors = append(factors, e.dst...)
		if e.mixed == x {
			break
		}
		x = e.mixed
	}
	fold := h.Nodes[x]
	if fold.Op != model.Fold || fold.How != model.FoldSum || !slices.Equal(fold.Shape, n.Shape) {
		return -1
	}
	m, e := h.Nodes[fold.In[0]], h.edges[fold.In[0]]
	if m.Op != model.Mul || fold.Axis != len(m.Shape)-1 || e.weight >= 0 || e.mixed >= 0 || e.src < 0 ||
		len(e.dst) == 0 {
		return -1
	}
	q := e.dst[0]
	for _, f := range e.dst[1:] {
		q = h.product(n, q, f)
	}
	if !slices.Equal(h.Nodes[q].Shape, m.Shape) || !slices.Equal(h.Nodes[e.src].Shape, m.Shape) ||
		h.Nodes[q].Space != model.Vertices {
		return -1
	}
	of := func(op model.Op, a model.Attr, space model.Space, shape []int, in ...int) int {
		return h.put(model.Node{Name: n.Name, Op: op, In: in, Attr: a, Space: space, Shape: shape, Line: n.Line})
	}
	for _, f := range factors {
		if s := h.Nodes[f].Shape; h.Nodes[f].Columns() > 1 {
			f = of(model.Reshape, model.Attr{}, h.Nodes[f].Space, append(slices.Clone(s), 1), f)
		}
		q = of(model.Mul, model.Attr{}, model.Vertices, m.Shape, q, f)
	}
	if scale != 1 {
		q = of(model.Add, model.Attr{Coef: []float64{scale}}, model.Vertices, m.Shape, q)
	}
	g := model.Attr{Graph: n.Graph}
	dst, src := of(model.Dst, g, n.Space, m.Shape, q), of(model.Src, g, n.Space, m.Shape, e.src)
	ends := of(model.Mul, model.Attr{}, n.Space, m.Shape, dst, src)
	n.In = []int{of(model.Fold, fold.Attr, n.Space, fold.Shape, ends)}
	return h.put(n)
}

// dots returns how value i is made of such attention; nil: it is not.
func (f *fusion) dots(i int) *edgeSum {
	at := &f.Nodes[i]
	if at.Op != model.SumIn || f.op(at.In[0]) != model.Mul || len(f.Nodes[at.In[0]].In) != 2 {
		return nil
	}
	s, d := &edgeSum{Sum: Sum{Graph: at.Graph}, i: i}, &dots{}
	alpha, far := f.in(at.In[0], 0), f.in(at.In[0], 1)
	if f.op(alpha) == model.Src {
		alpha, far = far, alpha
	}
	x := alpha
	for f.op(x) == model.Reshape || f.op(x) == model.Dropout && d.p == 0 {
		if f.op(x) == model.Dropout {
			d.p, d.counter = f.Nodes[x].P, f.Nodes[x].Counter
		}
		x = f.in(x, 0)
	}
	if f.op(far) != model.Src || f.op(x) != model.SoftmaxIn || f.op(f.in(x, 0)) != model.Fold ||
		f.op(f.in(f.in(x, 0), 0)) != model.Mul {
		return nil
	}
	ends := f.in(f.in(x, 0), 0) // as hoisting writes them
	q, k, v := f.in(ends, 0), f.in(ends, 1), f.Nodes[far].Shape
	if f.op(q) != model.Dst || f.op(k) != model.Src {
		return nil
	}
	d.heads = f.Nodes[x].Columns()
	s.r, s.c, s.x, s.dots = f.in(q, 0), f.in(k, 0), f.in(far, 0), d
	last := len(v) - 1
	byHead := last >= 0 && slices.Equal(f.Nodes[x].Shape, v[:last]) &&
		slices.Equal(f.Nodes[alpha].Shape, append(slices.Clone(v[:last]), 1))
	cols := at.Columns()
	f.refuse(i, (d.heads == 1 || byHead) && f.Nodes[ends].Columns() == cols && f.Nodes[far].Columns() == cols,
		fmt.Sprintf("rows of attention have the shape %v, and those that it compares %v: make both [heads, columns]",
			v, f.Nodes[ends].Shape))
	f.refuse(i, d.p == 0 || d.heads <= gpu.MaxDropHeads,
		fmt.Sprintf("dropout of attention with %d heads, more than %d: take fewer heads", d.heads, gpu.MaxDropHeads))
	return s
}

// sends returns how many columns a message sends of gradients: gradient and r, and of attention LSE and G
// (gpu.DotGradDst).
func (m *message) sends(cols int) int {
	if m.dots != nil {
		return 2 * (cols + m.dots.heads)
	}
	return 2 * cols
}

// compared returns the columns of gathered rows that scores compare, and those that are summed.
func (m *message) compared(x *exec, rows gpu.Matrix, cols int) (k, v gpu.Matrix) {
	return m.columnsOf(x.cfg, rows, m.c, cols), m.columnsOf(x.cfg, rows, m.x, cols)
}

// attendDots appends such attention.
func (d *derivation) attendDots(n *node) {
	m, g := n.message, n.message.of.gathers
	r := d.read(m.r, n.level)
	n.h, m.lse = n.z, d.wide(d.rowsAt(n.level), m.dots.heads)
	d.op(list(g.rows.v, r.v), list(n.z, m.lse), func(x *exec) {
		op, rows := x.graph(n.layer).Forward.kind(m.kind, x.cfg.values()), g.rows.dense(x)
		a := gpu.DotArgs{O: *n.z.m, LSE: *m.lse.m, Q: r.dense(x), Inner: op.Inner,
			Drop: x.edges(m.dots.edgeDrop, n.layer)}
		a.K, a.V = m.compared(x, rows, n.cols)
		if g.halo.Rows > 0 {
			a.Halo = op.Halo
			a.KHalo, a.VHalo = m.compared(x, g.halo, n.cols)
		}
		x.q.DotAggregate(a)
	})
}

// attendDotsBack leaves dO, r, LSE and G where they are sent, and appends the gradient of r.
func (d *derivation) attendDotsBack(n *node, dy *value) {
	m, g, rows := n.message, n.message.of.gathers, d.rowsAt(n.level)
	sent, r, dq := m.sentColumns(d, n), d.read(m.r, n.level), d.wide(rows, n.cols)
	d.op(list(dy, r.v, m.lse, n.z, g.rows.v), list(sent[0], sent[1], sent[2], sent[3], dq), func(x *exec) {
		x.q.Copy(*sent[0].m, *dy.m)
		x.q.Copy(*sent[1].m, r.dense(x))
		x.q.Copy(*sent[2].m, *m.lse.m)
		op, rows := x.graph(n.layer).Forward.kind(m.kind, x.cfg.values()), g.rows.dense(x)
		a := gpu.DotGradDst{DQ: *dq.m, G: *sent[3].m, DO: *dy.m, O: *n.z.m, LSE: *m.lse.m, Q: r.dense(x),
			Inner: op.Inner, Drop: x.edges(m.dots.edgeDrop, n.layer)}
		a.K, a.V = m.compared(x, rows, n.cols)
		if g.halo.Rows > 0 {
			a.Halo = op.Halo
			a.KHalo, a.VHalo = m.compared(x, g.halo, n.cols)
		}
		x.q.DotBackwardDst(a)
	})
	d.addTo(m.r, n.level, 1, dq)
}

// sentColumns returns the values that attention sends: dO, r, LSE and G.
func (m *message) sentColumns(d *derivation, n *node) (sent [4]*value) {
	at := m.of.cols + m.at
	for i, cols := range []int{n.cols, n.cols, m.dots.heads, m.dots.heads} {
		sent[i] = d.columns(d.sending(m.of.gathers), at, cols)
		at += cols
	}
	return sent
}

// dotsToSources adds to the gradients of what is gathered those of attention, whose targets have sent what
// attendDotsBack says.
func (d *derivation) dotsToSources(n *node, sent, all *value) {
	m, g := n.message, n.message.of.gathers
	dk, dv := d.wide(d.rowsAt(n.layer), n.cols), d.wide(d.rowsAt(n.layer), n.cols)
	part := func(rows gpu.Matrix) (do, r, lse, grad gpu.Matrix) {
		lo, c, h := m.of.cols+m.at, n.cols, m.dots.heads
		return rows.ColRange(lo, lo+c), rows.ColRange(lo+c, lo+2*c),
			rows.ColRange(lo+2*c, lo+2*c+h), rows.ColRange(lo+2*c+h, lo+2*c+2*h)
	}
	d.op(list(sent, all, g.rows.v), list(all, dk, dv), func(x *exec) {
		op, rows := x.graph(n.layer).Backward.kind(m.kind, x.cfg.values()), g.rows.dense(x)
		a := gpu.DotGradSrc{DK: *dk.m, DV: *dv.m, Heads: m.dots.heads, Inner: op.Inner,
			Drop: x.turned(m.dots.edgeDrop, n.layer)}
		a.K, a.V = m.compared(x, rows, n.cols)
		a.DO, a.Q, a.LSE, a.G = part(*sent.m)
		if g.halo.Rows > 0 {
			a.Halo = op.Halo
			a.DOHalo, a.QHalo, a.LSEHalo, a.GHalo = part(g.halo)
		}
		x.q.DotBackwardSrc(a)
		k, v := m.compared(x, *all.m, n.cols)
		x.q.Axpby(k, 1, *dk.m, 1)
		x.q.Axpby(v, 1, *dv.m, 1)
	})
}
