package gnn

import (
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// attention is Σ α·T over in-edges by head with T = x·Wᵀ + b, α a softmax of scores: of GAT leaky(⟨aSrc, T_u⟩ +
// ⟨aDst, T_v⟩), of GATv2 ⟨att, leaky(T_u + R_v)⟩ with R = x·W2ᵀ + b2. Heads lie side by side, or their mean is taken.
// The formulas across parts are in docs/mathematics.md.
type attention struct {
	x            *node
	w, b, w2, b2 string
	aSrc, aDst   string
	att          string // of GATv2, else ""
	heads, width int    // width of all heads together
	mean         bool
	slope        float32
	made         *attended // in a pass
	edgeDrop
}

// edgeDrop is dropout of α.
type edgeDrop struct {
	p       float64
	counter int
}

// attention makes n what attention makes of value i, if it is that.
func (f *fusion) attention(n *node, i int) bool {
	m := &match{fusion: f, ok: true}
	a := &attention{}
	bias, y := -1, i
	if f.op(i) == model.Add {
		bias, y = m.either(i, model.Add, func(x int) bool { return f.op(x) == model.Param })
	}
	if !m.ok {
		return false
	}
	if f.op(y) == model.Fold {
		m.ok, a.mean = m.ok && f.Nodes[y].How == model.FoldMean && f.Nodes[y].Axis == 0, true
		y = m.in(y, model.Fold)
	} else {
		y = m.in(y, model.Reshape)
	}
	far, alpha := m.either(m.in(y, model.SumIn), model.Mul, func(x int) bool { return f.op(x) == model.Src })
	scores := m.in(m.dropped(a, m.reshaped(m.dropped(a, alpha))), model.SoftmaxIn)
	if !m.ok {
		return false
	}
	t := m.in(far, model.Src)
	product := m.in(t, model.Reshape)
	x := m.in(product, model.Linear)
	shape := f.Nodes[t].Shape
	one := len(shape) == 2 && shape[0] == 1 // head, so that shapes need not say which
	m.need(alpha, len(shape) == 2 && (slices.Equal(f.Nodes[alpha].Shape, []int{shape[0], 1}) || one && f.Nodes[alpha].Columns() == 1))
	m.settle()
	a.w = m.tensor(f.in(product, 1))
	a.heads, a.width = f.Nodes[t].Shape[0], f.Nodes[t].Columns()
	f.refuse(alpha, a.p == 0 || a.heads <= gpu.MaxDropHeads, fmt.Sprintf("dropout of attention with %d heads, more than %d: "+
		"take fewer heads", a.heads, gpu.MaxDropHeads))
	isDst := func(x int) bool { return f.op(x) == model.Dst }
	if f.op(scores) == model.Fold {
		leaky, att := m.either(m.heads(scores), model.Mul, func(x int) bool { return f.op(x) == model.LeakyReLU })
		dst, src := m.either(m.in(leaky, model.LeakyReLU), model.Add, isDst)
		r := m.in(m.in(dst, model.Dst), model.Reshape)
		m.need(leaky, src == far)
		m.need(r, m.in(r, model.Linear) == x && len(f.Nodes[r].In) == 3)
		m.need(product, len(f.Nodes[product].In) == 3) // with a bias, too
		m.settle()
		a.att, a.w2, a.b, a.b2 = m.tensor(att), m.tensor(f.in(r, 1)), m.tensor(f.in(product, 2)), m.tensor(f.in(r, 2))
		m.slope(a, leaky)
		m.need(r, f.Nodes[r].Columns() == a.width)
	} else {
		dst, src := m.either(m.in(scores, model.LeakyReLU), model.Add, isDst)
		score := func(e int) string {
			_, att := m.either(m.heads(e), model.Mul, func(x int) bool { return x == t || one && x == product })
			return m.tensor(att)
		}
		a.aSrc, a.aDst = score(m.in(src, model.Src)), score(m.in(dst, model.Dst))
		m.slope(a, scores)
		m.need(product, len(f.Nodes[product].In) == 2) // without a bias
	}
	for _, name := range []string{a.att, a.aSrc, a.aDst} {
		m.need(product, name == "" || f.Node(name).Columns() == a.width)
	}
	if bias >= 0 {
		n.bias = m.tensor(bias)
		m.need(bias, f.Nodes[bias].Columns() == n.cols)
	}
	m.settle()
	f.adjacency(y)
	a.x = f.value(x)
	n.attend = a
	return true
}

// match follows a shape through a program, as long as it is there.
type match struct {
	*fusion
	ok  bool
	bad int // the first value that is not as it has to be
}

// need notes that value i has to be as ok says.
func (m *match) need(i int, ok bool) {
	if m.ok && !ok {
		m.ok, m.bad = false, i
	}
}

// settle refuses attention that is not as it has to be.
func (m *match) settle() {
	if !m.ok {
		m.refuse(m.bad, false, fmt.Sprintf("%s differs from the attention that capgnn has, in its inputs, shape or "+
			"attributes: write it as `capgnn model show gat` or gatv2 does", m.op(m.bad)))
	}
}

// slope takes that of a leaky_relu.
func (m *match) slope(a *attention, i int) {
	s := m.Nodes[i].Slope
	m.need(i, s >= 0 && s <= 1)
	a.slope = float32(s)
}

// reshaped returns what value i is in another shape, or i.
func (m *match) reshaped(i int) int {
	if m.ok && m.op(i) == model.Reshape {
		return m.fusion.in(i, 0)
	}
	return i
}

// dropped takes dropout off value i, once.
func (m *match) dropped(a *attention, i int) int {
	if m.ok && a.p == 0 && m.only(i, model.Dropout) {
		a.p, a.counter = m.Nodes[i].P, m.Nodes[i].Counter
		i = m.fusion.in(i, 0)
	}
	return i
}

// in returns what value i, which has to be of an operation, reads first.
func (m *match) in(i int, op model.Op) int {
	if m.need(i, m.op(i) == op); !m.ok {
		return i
	}
	return m.fusion.in(i, 0)
}

// heads returns what value i is the sum of by head.
func (m *match) heads(i int) int {
	n := &m.Nodes[i]
	m.need(i, n.Op == model.Fold && n.How == model.FoldSum && n.Axis == 1)
	return m.in(i, model.Fold)
}

// either returns the one of two values that value i reads for which is holds, and the other one.
func (m *match) either(i int, op model.Op, is func(x int) bool) (one, other int) {
	if m.need(i, m.op(i) == op && len(m.Nodes[i].In) == 2 && m.plain(i)); !m.ok {
		return i, i
	}
	one, other = m.Nodes[i].In[0], m.Nodes[i].In[1]
	if !is(one) {
		one, other = other, one
	}
	m.need(i, is(one))
	return one, other
}

// tensor returns the name of the tensor that value i is, perhaps in another shape.
func (m *match) tensor(i int) string {
	if m.op(i) == model.Reshape {
		i = m.fusion.in(i, 0)
	}
	m.need(i, m.op(i) == model.Param)
	return m.Nodes[i].Name
}

// attended is what attention makes forward, for the backward pass.
type attended struct {
	t, tHalo *value // T, and T of halo rows that are transformed here: replicated ones, and those of x that are exchanged
	o, lse   *value // Σ α·T without bias, and the log-sum-exp by head
	s, d     *value // GAT: scores of sources and destinations
	sHalo    *value
	r        *value // GATv2: R

	halo  gpu.Matrix // T of halo rows of this epoch: exchanged, or made here
	hHalo gpu.Matrix // the rows that they were made of, where these are exchanged
}

// attend appends what makes the sum of a node of attention, and what follows it.
func (d *derivation) attend(n *node) {
	a, rows, src, halo := n.attend, d.rowsAt(n.level), d.rowsAt(n.layer), d.haloOf(n.layer)
	c := &attended{t: d.wide(src, a.width), lse: d.wide(rows, a.heads), o: d.wide(rows, a.width)}
	a.made = c
	if d.replicated(n.layer) || d.plan.Layers[n.layer].Raw {
		c.tHalo = d.value(halo, a.width, gpu.FP32)
	}
	if a.att == "" {
		c.s, c.d, c.sHalo = d.wide(src, a.heads), d.wide(rows, a.heads), d.wide(halo, a.heads)
		d.gat(n, c)
	} else {
		c.r = d.value(rows, a.width, gpu.FP32)
		d.gatv2(n, c)
	}
	e := d.ending(n)
	d.op(list(c.o), list(n.z), func(x *exec) { x.q.HeadMean(*n.z.m, *c.o.m, e.bias) })
	if e.then != nil {
		d.op(list(n.z), e.writes, func(x *exec) { x.q.Epilogue(e.then(x)) })
	}
}

// edges returns which weights of attention an operation on the edges to rows of layer l drops, in training.
func (x *exec) edges(a edgeDrop, l int) gpu.EdgeDropout {
	if a.p == 0 || !x.training() {
		return gpu.EdgeDropout{}
	}
	return gpu.EdgeDropout{P: a.p, Seed: x.cfg.Seed, Layer: uint32(a.counter), Epoch: x.epoch,
		Rows: x.in.IDs, Inner: x.in.IDs, Halo: x.graph(l).Forward.HaloIDs}
}

// turned returns the same for an operation on the edges from rows of layer l.
func (x *exec) turned(a edgeDrop, l int) gpu.EdgeDropout {
	e := x.edges(a, l)
	e.Halo = x.graph(l).Backward.HaloIDs
	return e
}

// fromHalo returns the same for an operation on the edges from halo rows of layer l.
func (x *exec) fromHalo(a edgeDrop, l int) gpu.EdgeDropout {
	e := x.edges(a, l)
	e.Rows, e.Halo = e.Halo, gpu.Ints{}
	return e
}

// affine appends y = x·wᵀ + bias.
func (d *derivation) affine(y *value, x operand, w gpu.Matrix, bias gpu.Vec, sparse bool) {
	d.project(y, x, w, bias, false, sparse)
	if sparse && bias.Len > 0 {
		d.op(list(y), list(y), func(x *exec) { x.q.HeadMean(*y.m, *y.m, bias) }) // of one head: it adds the bias
	}
}

// central calls f for the rows of a layer without halo columns, if it has an exchange.
func (g *LayerGraph) central(exchange bool, f func(lo, hi int)) {
	if exchange {
		for _, r := range g.Central {
			f(r.Lo, r.Hi)
		}
	}
}

// others calls f for the rows that central leaves.
func (g *LayerGraph) others(exchange bool, f func(lo, hi int)) {
	next := 0
	g.central(exchange, func(lo, hi int) {
		if next < lo {
			f(next, lo)
		}
		next = hi
	})
	if next < g.Rows {
		f(next, g.Rows)
	}
}

// transformed appends T = x·wᵀ + b, of halo rows too where they are replicated.
func (d *derivation) transformed(n *node, c *attended, in operand, w gpu.Matrix, bias gpu.Vec) {
	sparse := d.sparse(n.attend.x)
	d.affine(c.t, in, w, bias, sparse)
	if d.replicated(n.layer) {
		d.affine(c.tHalo, inputHalo, w, bias, sparse)
	}
}

// haloRows leaves the halo rows of T: those that come, or made of those of x that come or are here.
func (c *attended) haloRows(x *exec, l int, w gpu.Matrix, bias gpu.Vec, raw bool) {
	c.halo = gpu.Matrix{}
	switch {
	case x.exchanges(l) && raw:
		c.hHalo = x.halo.Wait(x.q, l, Forward)
		if c.halo = c.tHalo.m.RowRange(0, c.hHalo.Rows); c.halo.Rows > 0 {
			x.linear(gpu.LinearArgs{Z: c.halo, X: c.hHalo, W: w, Bias: bias})
		}
	case x.exchanges(l):
		c.halo = x.halo.Wait(x.q, l, Forward)
	case x.replicated(l):
		c.halo = *c.tHalo.m
	}
}

// returnRaw appends what sends the gradients of halo rows of x to their owners. Those of the weights are added before
// the rows may be replaced.
func (d *derivation) returnRaw(n *node, c *attended, dtHalo *value) {
	a, l := n.attend, n.layer
	dh := d.value(d.haloOf(l), d.cfg.width(a.x), gpu.FP32)
	w, dw := d.params.mat(d.touch(a.w)), d.Pass.grads.mat(a.w)
	var db gpu.Vec
	if a.b != "" {
		db = d.vec(d.Pass.grads, a.b)
	}
	d.op(list(dtHalo), list(dh), func(x *exec) {
		if !x.exchanges(l) {
			return
		}
		if dtHalo.m.Rows > 0 {
			x.gemm(gpu.GemmArgs{C: dw, A: *dtHalo.m, B: c.hHalo, TransA: true, Beta: 1})
			if db.Len > 0 {
				x.q.ColSum(db, *dtHalo.m, 1)
			}
			x.gemm(gpu.GemmArgs{C: *dh.m, A: *dtHalo.m, B: w})
		}
		x.halo.Begin(x.q, l, Backward, *dh.m)
	})
}

// addReturned adds to y what other parts return. One whose y has no row exchanges like the others.
func (x *exec) addReturned(l int, y gpu.Matrix) {
	if !x.exchanges(l) {
		return
	}
	if rows := x.halo.Wait(x.q, l, Backward); rows.Rows > 0 && y.Rows > 0 {
		x.q.Aggregate(gpu.AggregateArgs{Y: y, A: x.graph(l).Backward.Halo, X: rows, Accumulate: true})
	}
}

// attendBack appends the gradient of what attention makes.
func (d *derivation) attendBack(n *node, dz *value) {
	a, l, c := n.attend, n.layer, n.attend.made
	var dt, dr, dtHalo *value
	if a.att == "" {
		dt, dtHalo = d.gatBack(n, c, dz)
	} else {
		dt, dr, dtHalo = d.gatv2Back(n, c, dz)
	}
	if a.x != nil {
		d.productTo(a.x, l, dt, weight{m: d.params.mat(d.touch(a.w))})
		if dr != nil {
			d.productTo(a.x, n.level, dr, weight{m: d.params.mat(d.touch(a.w2))})
		}
	}
	if d.plan.Layers[l].Raw {
		reads, dh := list(), (*value)(nil)
		if a.x != nil {
			dh = a.x.grad.v
			reads = list(dh)
		}
		d.op(reads, list(dh), func(x *exec) {
			var y gpu.Matrix
			if dh != nil {
				y = *dh.m
			}
			x.addReturned(l, y)
		})
	}
	if !d.replicated(l) {
		dtHalo = nil
	}
	d.wait(n, a.x, func() {
		d.weightGrad(&term{x: a.x, w: a.w}, dt, d.back(a.x, l), dtHalo)
		if dr != nil {
			d.weightGrad(&term{x: a.x, w: a.w2}, dr, d.back(a.x, n.level), nil)
		}
	})
}
