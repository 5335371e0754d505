package gnn

import (
	"slices"

	"capgnn/gpu"
)

// forward appends what makes a node.
func (d *derivation) forward(n *node) {
	if n.from != nil {
		x := d.read(n.from, n.level)
		n.h = d.value(d.rowsAt(n.level), n.cols, gpu.FP32)
		d.op(list(x.v), list(n.h), func(e *exec) {
			e.q.Epilogue(gpu.Epilogue{Z: x.dense(e), H: *n.h.m, Dropout: e.dropped(n.then, n.h.m.Rows)})
		})
		return
	}
	if n.cut != nil || n.leaf != nil && n.leaf.tensor != "" {
		return
	}
	if n.gathers != nil && n.cols == 0 { // of messages alone
		d.gatherAll(n)
		return
	}
	n.z = d.value(d.count(n, n.level), n.cols, gpu.FP32)
	if n.end >= 0 && !d.outside(n) { // in its columns of the table
		n.z.of, n.z.lo = d.table, n.end
	}
	switch {
	case n.of != nil:
		return
	case n.attend != nil:
		d.attend(n)
	case n.gathers != nil:
		d.gatherAll(n)
	case n.message != nil:
		d.message(n)
	case n.beside:
		d.beside(n)
	case n.maps != nil:
		d.mapped(n)
	case n.whole != nil:
		d.sumAll(n)
	case n.applied != nil:
		d.apply(n)
	case n.leaf != nil:
		n.h = n.z
		d.op(nil, list(n.z), func(x *exec) {
			if b := n.leaf.matrix; b != nil {
				x.q.Upload(n.z.m.Buf, 4*gpu.Bytes(n.z.m.Off), b)
				return
			}
			x.q.Fill(*n.z.m, float32(n.leaf.number))
		})
	default:
		d.sum(n)
	}
	if n.then != nil && n.then.batch != nil {
		d.batchNorm(n)
	}
	if n.shows = n.h; n.add != nil {
		d.residual(n)
	}
	if n.rstd != nil {
		n.shows = n.rstd
	}
}

// ending is what the last operation of a sum does besides: a bias, and what follows it.
type ending struct {
	bias   gpu.Vec
	then   func(x *exec) gpu.Epilogue // nil: nothing
	writes []*value
}

func (e ending) epilogue(x *exec) *gpu.Epilogue {
	if e.then == nil {
		return nil
	}
	then := e.then(x)
	return &then
}

// ending returns that of a node and requests what it writes.
func (d *derivation) ending(n *node) ending {
	e := ending{writes: list(n.z)}
	if n.bias != "" {
		e.bias = d.vec(d.params, n.bias)
	}
	n.h = n.z
	if n.then == nil || n.then.batch != nil {
		return e
	}
	t, z := n.then, n.z
	if d.outside(n) {
		n.h = d.value(z.rows, n.cols, gpu.FP32)
		if n.add == nil {
			n.h.t = d.outType(n)
		}
	}
	var gamma, beta gpu.Vec
	if t.gamma != "" {
		gamma, beta = d.vec(d.params, t.gamma), d.vec(d.params, t.beta)
		if d.training() {
			n.rstd = d.value(z.rows, 0, gpu.FP32)
		}
	}
	h := n.h
	e.writes = list(z, h, n.rstd)
	e.then = func(x *exec) gpu.Epilogue {
		e := gpu.Epilogue{Z: *z.m, H: *h.m, Act: t.act, Dropout: x.dropped(t, z.m.Rows)}
		if t.gamma != "" {
			e.Norm, e.Gamma, e.Beta, e.Eps = true, gamma, beta, float32(t.eps)
		}
		if n.rstd != nil {
			e.Rstd = *n.rstd.v
		}
		return e
	}
	return e
}

// sum appends the terms of a node. Those that are transformed before they are summed over neighbours come last: their
// exchange is under way while the others are made.
func (d *derivation) sum(n *node) {
	added := n.before != nil
	if added {
		if b := d.read(n.before, n.level); b.v != nil {
			n.z = b.v
		} else {
			d.op(nil, list(n.z), func(x *exec) { x.q.Copy(*n.z.m, b.dense(x)) })
		}
	}
	if n.shift != 0 {
		d.op(nil, list(n.z), func(x *exec) { x.q.Fill(*n.z.m, float32(n.shift)) })
		added = true
	}
	var direct, spread []int
	for i := range n.terms {
		t := &n.terms[i]
		switch {
		case t.x != nil && t.x.single && !n.single:
			d.addRow(n.z, t.x, t.coef, added)
			added = true
			continue
		case !t.graph && t.w == "" && t.gain == "":
			x, add := d.read(t.x, n.level), added
			d.op(reading(n.z, add, x.v), list(n.z), func(e *exec) {
				e.q.Axpby(*n.z.m, float32(t.coef), x.dense(e), beta(add))
			})
			added = true
			continue
		case !t.graph:
			n.terms[i].s = d.read(t.x, n.level)
		case d.fixed(t) || t.w != "" && d.plan.order(n, t).AggregateFirst:
			n.terms[i].s = d.gather(n, t)
		default:
			d.transform(n, t)
			spread = append(spread, i)
			continue
		}
		direct = append(direct, i)
	}
	end, middle := d.ending(n), ending{writes: list(n.z)}
	apart := end.then
	if n.apart || slices.ContainsFunc(n.terms, func(t term) bool { return t.w == "" && t.blends() }) {
		end.then, end.writes = nil, middle.writes
	} else {
		apart = nil
	}
	for _, i := range spread {
		d.offer(n.layer, Forward, n.terms[i].s)
	}
	var dense []int
	for _, i := range direct {
		if t := &n.terms[i]; d.sparse(t.x) && !t.graph {
			d.project(n.z, n.terms[i].s, d.weight(d.params, t), gpu.Vec{}, added, true)
			added = true
		} else {
			dense = append(dense, i)
		}
	}
	for i := 0; i < len(dense) || i == 0 && len(spread) == 0; i += 2 {
		e := middle
		if i+2 >= len(dense) && len(spread) == 0 {
			e = end
		}
		d.products(n, dense[i:min(i+2, len(dense))], added, e)
		added = true
	}
	for k, i := range spread {
		e := middle
		if k == len(spread)-1 {
			e = end
		}
		d.spread(n, &n.terms[i], added, e)
		added = true
	}
	if apart != nil {
		d.op(list(n.z), list(n.z, n.h, n.rstd), func(x *exec) { x.q.Epilogue(apart(x)) })
	}
}

// offer appends the beginning of the exchange of rows, if the layer has one.
func (d *derivation) offer(l int, dir Direction, rows operand) {
	d.op(list(rows.v), nil, func(x *exec) { x.offer(l, dir, rows.dense(x)) })
}

// products appends what adds up to two terms that are a product each.
func (d *derivation) products(n *node, terms []int, add bool, e ending) {
	var x [2]operand
	var w [2]weight
	for k, i := range terms {
		x[k], w[k] = n.terms[i].s, d.factor(&n.terms[i], 1)
	}
	d.op(reading(n.z, add, x[0].v, x[1].v, w[0].v, w[1].v), e.writes, func(q *exec) {
		a := gpu.LinearArgs{Z: *n.z.m, Bias: e.bias, Beta: beta(add), Then: e.epilogue(q)}
		if a.X, a.W = (gpu.Matrix{Rows: a.Z.Rows}), (gpu.Matrix{Rows: a.Z.Cols}); len(terms) > 0 {
			a.X, a.W = x[0].dense(q), w[0].at()
		}
		if len(terms) > 1 {
			a.X2, a.W2 = x[1].dense(q), w[1].at()
		}
		q.linear(a)
	})
}

// spread appends what adds a term that is summed over neighbours as it is, or behind its product.
func (d *derivation) spread(n *node, t *term, add bool, e ending) {
	x, halo := t.s, t.tHalo
	if t.scales() {
		fill := !add
		v, eps := d.scale(t)
		d.op(list(x.v, v), list(n.z), func(q *exec) {
			if fill {
				q.q.Fill(*n.z.m, 0)
			}
			q.q.AddScaled(*n.z.m, x.dense(q).RowRange(0, n.z.m.Rows), eps())
		})
		add = true
	}
	d.op(reading(n.z, add, x.v, halo), e.writes, func(q *exec) {
		q.spread(n.layer, Forward, &q.graph(n.layer).Forward,
			gpu.AggregateArgs{Y: *n.z.m, X: x.dense(q), Accumulate: add, Bias: e.bias, Then: e.epilogue(q)}, halo)
	})
	if t.blends() {
		d.blend(n.z, n, t)
	}
}

// blend appends s = coef·s + own.coef·own.x.
func (d *derivation) blend(s *value, n *node, t *term) {
	x := d.read(t.own.x, n.level)
	d.op(list(x.v, s), list(s), func(e *exec) { e.q.Axpby(*s.m, float32(t.own.coef), x.dense(e), float32(t.coef)) })
}

// transform appends T = X·Wᵀ of a term, of halo rows too where they are replicated; without a weight T is X.
func (d *derivation) transform(n *node, t *term) {
	t.s = d.read(t.x, n.layer)
	if t.w == "" {
		return
	}
	w := d.weight(d.params, t)
	typ := d.cfg.GatherType(d.plan, n.layer, Forward)
	t.t = d.value(d.rowsAt(n.layer), w.Rows, typ)
	d.project(t.t, t.s, w, gpu.Vec{}, false, d.sparse(t.x))
	if d.replicated(n.layer) {
		t.tHalo = d.value(d.haloOf(n.layer), w.Rows, typ)
		d.project(t.tHalo, inputHalo, w, gpu.Vec{}, false, d.sparse(t.x))
	}
	t.s = t.t.all()
}

// project appends y (+)= x·wᵀ, of dense rows with a bias.
func (d *derivation) project(y *value, x operand, w gpu.Matrix, bias gpu.Vec, add, sparse bool) {
	if !sparse {
		d.op(reading(y, add, x.v), list(y), func(e *exec) {
			if y.m.Rows > 0 {
				e.linear(gpu.LinearArgs{Z: *y.m, X: x.dense(e), W: w, Bias: bias, Beta: beta(add)})
			}
		})
		return
	}
	wt := d.value(number(w.Cols), w.Rows, gpu.FP32)
	d.op(reading(y, add, x.v), list(y, wt), func(e *exec) {
		if y.m.Rows > 0 {
			e.q.Transpose(*wt.m, w)
			e.q.SpMM(*y.m, x.get(e).Sparse, *wt.m, beta(add))
		}
	})
}

// gather appends S = A·X of a term, with what is added to it.
func (d *derivation) gather(n *node, t *term) operand {
	rows := d.rowsAt(n.level)
	s := operand{given: func(x *exec) Features { return Features{Dense: x.in.AX.RowRange(0, rows.in(x.layers))} }}
	if d.fixed(t) && t.own == nil {
		return s
	}
	y := d.value(rows, d.cfg.width(t.x), gpu.FP32)
	if d.fixed(t) {
		d.op(nil, list(y), func(x *exec) { x.q.Copy(*y.m, s.dense(x)) })
	} else {
		x := d.gathered(n, t)
		d.offer(n.layer, Forward, x)
		d.op(list(x.v), list(y), func(e *exec) {
			e.spread(n.layer, Forward, &e.graph(n.layer).Forward, gpu.AggregateArgs{Y: *y.m, X: x.dense(e)}, nil)
		})
	}
	switch {
	case t.own == nil:
	case t.scales():
		x := d.read(t.own.x, n.level)
		v, eps := d.scale(t)
		d.op(list(x.v, y, v), list(y), func(e *exec) { e.q.AddScaled(*y.m, x.dense(e), eps()) })
	default:
		d.blend(y, n, t)
	}
	return y.all()
}

// outside reports whether the output of a node lies apart from its sum: behind a norm, in another type, or where
// residuals are added.
func (d *derivation) outside(n *node) bool {
	return n.then != nil && (n.then.gamma != "" || d.outType(n) != gpu.FP32 || n.add != nil ||
		slices.ContainsFunc(n.readers, func(r *node) bool { return r.add == n }))
}

// outType returns the element type of a node's output: that of gathered rows if a sum over neighbours reads them, on
// a device whose products round their operands also if its products do, so that they are rounded once.
func (d *derivation) outType(n *node) (typ gpu.DType) {
	for _, r := range n.readers {
		for i := range r.terms {
			if t := &r.terms[i]; t.x == n && t.graph && (d.plan.order(r, t).AggregateFirst || d.ws.device.HalfProducts) {
				typ = d.cfg.GatherType(d.plan, r.layer, Forward)
			}
		}
		if r.needsWide(n) {
			return gpu.FP32
		}
	}
	return typ
}

// needsWide reports whether a node reads FP32 rows of n.
func (r *node) needsWide(n *node) bool {
	sums := r.whole != nil && (r.whole.x == n || r.whole.y == n) || r.applied != nil && r.applied.x == n
	return sums || r.maps != nil && (r.maps.x == n || r.maps.by == n) || r.cut == n || slices.ContainsFunc(r.terms, func(t term) bool {
		return t.x == n && !t.graph && t.w == "" && t.gain == "" || t.blends() && (t.own.x == n || t.x == n)
	})
}

// gathered returns the rows that a term sums over neighbours, in the type in which parts send them.
func (d *derivation) gathered(n *node, t *term) operand {
	x, typ := d.read(t.x, n.layer), d.cfg.GatherType(d.plan, n.layer, Forward)
	if t.x == nil || typ == gpu.FP32 || x.v != nil && x.v.t == typ || t.x.begin >= 0 && d.cfg.RowType(d.plan, n.layer-1) == typ {
		return x
	}
	v := d.value(d.rowsAt(n.layer), t.x.cols, typ)
	d.op(list(x.v), list(v), func(e *exec) { e.q.Copy(*v.m, x.dense(e)) })
	return v.all()
}

// residual appends what is added behind the epilogue of a node.
func (d *derivation) residual(n *node) {
	sum, x := n.h, d.read(n.add, n.level)
	var zero *value
	if d.plan.Storage != gpu.FP32 {
		zero = d.value(number(1), 0, gpu.FP32)
	}
	d.op(list(x.v, sum), list(sum, zero), func(e *exec) {
		h := x.dense(e)
		if h.Type == gpu.FP32 {
			e.q.Axpby(*sum.m, 1, h, 1)
			return
		}
		e.q.Fill(number1(*zero.v), 0)
		e.q.AddScaled(*sum.m, h, *zero.v)
	})
	if t := d.outType(n); t != gpu.FP32 {
		n.h = d.rounded(sum, t)
	}
}
