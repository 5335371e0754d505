package gnn

import (
	"math"
	"slices"

	"capgnn/gpu"
)

// gradient is that of what a node makes: v times a factor that operations without weights have left out,
// times·base^power.
type gradient struct {
	v           *value
	times, base float64
	power       int
}

func (g *gradient) factor() float64 { return g.times * math.Pow(g.base, float64(g.power)) }

// backward appends the gradient of a node's terms. That of what it makes is complete: nodes go from the last to the
// first, so that shares of it come from its readers in this order, of each first the one summed over neighbours, then
// products, and what is added behind.
func (d *derivation) backward(n *node) {
	if n.of != nil { // its columns have been written
		return
	}
	if n.gathers != nil && n.gathers.messages != nil && n.grad == nil {
		d.gatherAllBack(n, nil)
	}
	if n.grad == nil { // nothing but stops reads it
		n.copy()
		return
	}
	dz := d.behind(n)
	for _, f := range n.late {
		f()
	}
	d.settle()
	if d.kept != nil && !d.again && n.readsFeatures() {
		d.again = true
		d.op(list(d.kept), list(d.kept), func(e *exec) { e.drop.backward(e) })
	}
	if n.from != nil {
		d.addTo(n.from, n.level, 1, dz)
		return
	}
	if n.attend != nil {
		d.attendBack(n, dz)
	}
	if n.gathers != nil {
		d.gatherAllBack(n, dz)
	}
	switch {
	case n.message != nil:
		d.messageBack(n, dz)
	case n.maps != nil:
		d.mappedBack(n, dz)
	case n.whole != nil:
		d.sumAllBack(n, dz)
	case n.applied != nil:
		d.applyBack(n, dz)
	case n.cut != nil:
		d.cutBack(n, dz)
	case n.leaf != nil:
		d.leafBack(n, dz)
	}
	for i := range n.terms {
		if t := &n.terms[i]; t.graph {
			d.spreadBack(n, t, dz)
		}
	}
	for i := range n.terms {
		t, dz := &n.terms[i], dz
		if n.beside {
			dz = d.columns(dz, t.to, t.cols)
		}
		switch {
		case t.graph:
			continue
		case t.gain != "":
			d.wait(n, t.x, func() { d.dot(d.element(d.Pass.grads, t), dz, d.back(t.x, n.level)) })
		case t.w == "":
			if t.x != nil {
				d.addTo(t.x, n.level, t.coef, dz)
			}
			continue
		default:
			d.wait(n, t.x, func() { d.weightGrad(t, d.rooted(n, t, dz), d.back(t.x, n.level), nil) })
		}
		if t.x != nil {
			d.productTo(t.x, n.level, dz, d.factor(t, 1))
		}
	}
	if n.add != nil { // behind all shares of this layer
		first := func(r *node) bool { return r == n || r.layer == n.layer && !r.joins }
		r := n.add.readers[slices.IndexFunc(n.add.readers, first)]
		r.copies = append(r.copies, func() { d.addTo(n.add, n.level, 1, n.grad.v) })
	}
	n.copy()
	if n.before != nil {
		n.before.grad = &gradient{v: dz, times: 1, base: 1}
	}
	for _, w := range slices.Backward(d.waits) {
		if w.x != nil {
			w.x.late = slices.Insert(w.x.late, 0, w.f)
		}
	}
	for _, w := range d.waits {
		if w.x == nil {
			w.f()
		}
	}
	d.waits = d.waits[:0]
	d.settle()
}

// copy appends shares of gradients that come behind the node's own.
func (n *node) copy() {
	for _, f := range n.copies {
		f()
	}
}

// waiting is a gradient of weights that read what x makes.
type waiting struct {
	x *node
	f func()
}

// wait has f append the gradients of n's weights that read what x makes: behind the gradient of what follows x's sum,
// with which its rows are made again, of features at the end of n, else now.
func (d *derivation) wait(n, x *node, f func()) {
	if x == nil || x.then != nil && x.from == nil && (x.layer < n.layer || n.joins || d.remade(x)) {
		d.waits = append(d.waits, waiting{x, f})
		return
	}
	f()
}

// remade reports whether what a node makes is not kept for the backward pass.
func (d *derivation) remade(n *node) bool {
	return n.then != nil && n.add == nil && n.from == nil && n.h != n.z
}

// back returns what a node made, as the backward pass has it.
func (d *derivation) back(n *node, level int) operand {
	if n != nil && d.remade(n) {
		return operand{v: n.again, rows: d.rowsAt(level)}
	}
	return d.read(n, level)
}

// behind appends the gradient of what comes behind a sum, and returns that of the sum.
func (d *derivation) behind(n *node) *value {
	g, rows := n.grad, d.count(n, n.level)
	spreads := len(n.terms) == 1 && n.terms[0].w == "" && n.terms[0].graph && n.bias == "" && n.then == nil
	if g.power > 0 && !spreads {
		v, factor := d.value(rows, n.cols, gpu.FP32), g.factor()
		from := g.v
		d.op(list(from), list(v), func(x *exec) { x.q.Axpby(*v.m, float32(factor), *from.m, 0) })
		g = &gradient{v: v, times: 1, base: 1}
		n.grad = g
	}
	if n.then == nil {
		dz := g.v
		if n.bias != "" && !n.centred() {
			b := d.vec(d.Pass.grads, n.bias)
			d.op(list(dz), nil, func(x *exec) { x.q.ColSum(b, *dz.m, 1) })
		}
		return dz
	}
	t := n.then
	if n.from != nil {
		dz := d.value(rows, n.cols, gpu.FP32, g.v)
		d.op(list(g.v), list(dz), func(x *exec) {
			x.q.EpilogueBackward(gpu.EpilogueGrad{DH: *g.v.m, DZ: *dz.m, Dropout: x.dropped(t, dz.m.Rows)})
		})
		return dz
	}
	if t.batch != nil {
		return d.batchNormBack(n)
	}
	dz := d.value(rows, n.cols, d.gradType(n), g.v, n.z)
	if dz.t != gpu.FP32 {
		dz.over = nil
	}
	if d.remade(n) {
		n.again = d.value(rows, n.cols, gpu.FP32, n.z)
		if n.rstd == nil {
			n.shows = n.again
		}
	}
	var gamma, beta, dgamma, dbeta, bias gpu.Vec
	if t.gamma != "" {
		gamma, beta = d.vec(d.params, t.gamma), d.vec(d.params, t.beta)
		dgamma, dbeta = d.vec(d.Pass.grads, t.gamma), d.vec(d.Pass.grads, t.beta)
	}
	if n.bias != "" {
		bias = d.vec(d.Pass.grads, n.bias)
	}
	curved := n.add != nil && t.gamma == "" && t.act.Curved() // its gradient is made of the output
	d.op(list(g.v, n.z, n.rstd), list(dz, n.again), func(x *exec) {
		e := gpu.EpilogueGrad{DH: *g.v.m, X: *n.z.m, DZ: *dz.m, Act: t.act, DBias: bias}
		e.Dropout = x.dropped(t, dz.m.Rows)
		if curved {
			x.q.Epilogue(gpu.Epilogue{Z: e.X, H: e.X, Act: e.Act, Dropout: e.Dropout})
		}
		if t.gamma != "" {
			e.Norm, e.Gamma, e.Beta, e.Rstd, e.DGamma, e.DBeta = true, gamma, beta, *n.rstd.v, dgamma, dbeta
		}
		if n.again != nil {
			e.H = *n.again.m
		}
		x.q.EpilogueBackward(e)
	})
	return dz
}

// gradType returns the element type of the gradient of a node's sum: that of gathered rows where it is what sums over
// neighbours read.
func (d *derivation) gradType(n *node) gpu.DType {
	for i := range n.terms {
		if t := &n.terms[i]; t.graph && !d.fixed(t) && (t.w == "" || !d.plan.order(n, t).BackwardIn) {
			return d.cfg.GatherType(d.plan, n.layer, Backward)
		}
	}
	return gpu.FP32
}

// spreadBack appends the gradient of a term that is summed over neighbours.
func (d *derivation) spreadBack(n *node, t *term, dz *value) {
	if t.w == "" {
		d.propagateBack(n, t, dz)
		return
	}
	lp := d.plan.order(n, t)
	keeps := d.fixed(t) || lp.KeepAggregate
	if keeps {
		d.weightGrad(t, dz, t.s, nil)
	}
	if d.fixed(t) || lp.BackwardIn {
		d.gatherBack(n, t, dz)
		return
	}
	w := d.weight(d.params, t)
	back := d.value(d.rowsAt(n.layer), w.Rows, gpu.FP32)
	d.scatter(n, back, dz, false)
	var halo *value
	if t.tHalo != nil {
		halo = d.value(d.haloOf(n.layer), w.Rows, gpu.FP32)
		d.op(list(dz), list(halo), func(x *exec) {
			if lg := x.graph(n.layer); halo.m.Rows > 0 {
				x.q.Aggregate(gpu.AggregateArgs{Y: *halo.m, A: lg.HaloBack, X: *dz.m,
					RowScale: lg.Forward.HaloScale, ColScale: lg.Forward.RowScale})
			}
		})
	}
	switch {
	case t.own == nil:
	case t.scales():
		v, eps := d.scale(t)
		d.op(list(back, dz, v), list(back), func(x *exec) {
			x.q.AddScaled(back.m.RowRange(0, dz.m.Rows), *dz.m, eps())
		})
		d.epsGrad(t, dz, operand{v: t.t, rows: dz.rows})
	default:
		d.productTo(t.own.x, n.level, dz, d.factor(t, t.own.coef))
	}
	if t.x != nil {
		d.productTo(t.x, n.layer, back, d.factor(t, t.coef))
	}
	if !keeps {
		d.wait(n, t.x, func() { d.weightGrad(t, back, d.back(t.x, n.layer), halo) })
	}
}

// gatherBack appends the gradient of a term whose product comes first in the backward pass.
func (d *derivation) gatherBack(n *node, t *term, dz *value) {
	if t.x == nil && (t.own == nil || t.own.eps == "") {
		return
	}
	typ := gpu.FP32
	if !d.fixed(t) {
		typ = d.cfg.GatherType(d.plan, n.layer, Backward)
	}
	ds, w := d.value(dz.rows, d.cfg.width(t.x), typ), d.weight(d.params, t)
	d.op(list(dz), list(ds), func(x *exec) { x.gemm(gpu.GemmArgs{C: *ds.m, A: *dz.m, B: w}) })
	if t.x != nil {
		s := d.share(t.x, n.layer)
		d.scatter(n, s.v, ds, s.add)
		if t.own != nil {
			v, eps := d.scale(t)
			s := d.share(t.x, n.level)
			d.op(list(ds, s.v, v), list(s.v), func(x *exec) { x.q.AddScaled(s.at(x), *ds.m, eps()) })
		}
	}
	if t.own != nil {
		d.wait(n, t.own.x, func() { d.epsGrad(t, ds, d.back(t.own.x, n.level)) })
	}
}

// epsGrad appends the gradient of ε, if it is a tensor: ⟨g, x⟩.
func (d *derivation) epsGrad(t *term, g *value, x operand) {
	if t.own.eps != "" {
		d.dot(d.vec(d.Pass.grads, t.own.eps), g, x)
	}
}

// dot appends the gradient of a number: ⟨g, x⟩.
func (d *derivation) dot(dst gpu.Vec, g *value, x operand) {
	d.op(list(g, x.v), nil, func(e *exec) { e.q.Dot(dst, *g.m, x.dense(e), 1) })
}

// propagateBack appends the gradient of c₀·Âx + c₁·y. The factor c₀ is left out, and counted.
func (d *derivation) propagateBack(n *node, t *term, dz *value) {
	g := n.grad
	if t.own != nil {
		d.addTo(t.own.x, n.level, t.own.coef*g.factor(), dz)
	}
	next := *g
	switch {
	case t.coef == 1:
	case next.power == 0 || next.base == t.coef:
		next.base = t.coef
		next.power++
	default:
		next.times *= t.coef
	}
	if t.x == nil {
		return
	}
	if t.x.grad != nil || len(t.x.readers) > 1 || n.add == t.x || t.x.level != n.layer || t.x.of != nil { // shares without that factor come, too
		v := d.value(d.rowsAt(n.layer), n.cols, gpu.FP32)
		d.scatter(n, v, dz, false)
		d.addTo(t.x, n.layer, next.factor(), v)
		return
	}
	next.v = d.value(d.rowsAt(t.x.level), n.cols, gpu.FP32)
	d.scatter(n, next.v, dz, false)
	t.x.grad = &next
}

// scatter appends y (+)= Aᵀ·dy.
func (d *derivation) scatter(n *node, y, dy *value, add bool) {
	if typ := d.cfg.GatherType(d.plan, n.layer, Backward); dy.t == gpu.FP32 && typ != gpu.FP32 { // as parts send it
		from := dy
		dy = d.value(from.rows, from.cols, typ)
		d.op(list(from), list(dy), func(x *exec) { x.q.Copy(*dy.m, *from.m) })
	}
	d.offer(n.layer, Backward, dy.all())
	d.op(reading(y, add, dy), list(y), func(x *exec) {
		a := gpu.AggregateArgs{Y: *y.m, X: *dy.m, Accumulate: add}
		x.spread(n.layer, Backward, &x.graph(n.layer).Backward, a, nil)
	})
}
