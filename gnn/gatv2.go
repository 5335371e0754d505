package gnn

import "capgnn/gpu"

// gatv2 appends graph attention with scores of sums of rows (Brody, Alon, Yahav, ICLR 2022).
func (d *derivation) gatv2(n *node, c *attended) {
	a, l, in := n.attend, n.layer, d.read(n.attend.x, n.layer)
	raw := d.plan.Layers[l].Raw
	w, bias := d.params.mat(d.touch(a.w)), d.vec(d.params, a.b)
	if raw {
		d.offer(l, Forward, in)
	}
	d.affine(c.t, in, w, bias, d.sparse(a.x))
	if !raw {
		d.offer(l, Forward, c.t.all())
	}
	d.affine(c.r, d.read(a.x, n.level), d.params.mat(d.touch(a.w2)), d.vec(d.params, a.b2), d.sparse(a.x))
	if d.replicated(l) {
		d.affine(c.tHalo, inputHalo, w, bias, d.sparse(a.x))
	}
	att := d.vec(d.params, a.att)
	d.op(list(c.t, c.r, c.tHalo), list(c.o, c.lse, c.tHalo), func(x *exec) {
		lg, exchange := x.graph(l), x.exchanges(l)
		args := gpu.GATv2Args{O: *c.o.m, LSE: *c.lse.m, Inner: lg.Forward.Inner, T: *c.t.m, R: *c.r.m, Att: att,
			Slope: a.slope, Drop: x.edges(a.edgeDrop, l)}
		rows := func(lo, hi int) {
			args.Lo, args.Hi = lo, hi
			x.q.GATv2Aggregate(args)
		}
		lg.central(exchange, rows)
		if c.haloRows(x, l, w, bias, raw); c.halo.Rows > 0 {
			args.Halo, args.THalo = lg.Forward.Halo, c.halo
		}
		lg.others(exchange, rows)
	})
}

// gatv2Back appends the gradients of T and R. Gradients of halo rows are returned to their owners in every layer: of
// T, or where rows may be stale of x.
func (d *derivation) gatv2Back(n *node, c *attended, dz *value) (dt, dr, dtHalo *value) {
	a, l, rows := n.attend, n.layer, d.rowsAt(n.level)
	do := dz
	if a.mean {
		do = d.value(rows, a.width, gpu.FP32)
		d.op(list(dz), list(do), func(x *exec) { x.q.HeadMeanBackward(*do.m, *dz.m) })
	}
	g := d.value(rows, a.heads, gpu.FP32)
	dt, dr, dtHalo = d.wide(d.rowsAt(l), a.width), d.wide(rows, a.width), d.wide(d.haloOf(l), a.width)
	att, datt := d.vec(d.params, a.att), d.vec(d.Pass.grads, a.att)
	db, db2 := d.vec(d.Pass.grads, a.b), d.vec(d.Pass.grads, a.b2)
	d.op(list(do, c.o, c.lse, c.t, c.r, c.tHalo), list(dr, g, c.o), func(x *exec) {
		lg := x.graph(l)
		dst := gpu.GATv2GradDst{DR: *dr.m, DA: *c.o.m, G: *g.m, DO: *do.m, O: *c.o.m, LSE: *c.lse.m,
			Inner: lg.Forward.Inner, T: *c.t.m, R: *c.r.m, Att: att, Slope: a.slope,
			Drop: x.edges(a.edgeDrop, l)}
		if c.halo.Rows > 0 {
			dst.Halo, dst.THalo = lg.Forward.Halo, c.halo
		}
		x.q.GATv2BackwardDst(dst)
		x.q.ColSum(datt, *c.o.m, 1)
		x.q.ColSum(db2, *dr.m, 1)
	})
	source := func(x *exec, dt, t gpu.Matrix, adjacency gpu.CSR, drop gpu.EdgeDropout) {
		x.q.GATv2BackwardSrc(gpu.GATv2GradSrc{DT: dt, T: t, A: adjacency, DO: *do.m, R: *c.r.m, LSE: *c.lse.m, G: *g.m,
			Att: att, Slope: a.slope, Drop: drop})
	}
	reads := list(do, c.r, c.lse, g, c.t, c.tHalo)
	d.op(reads, list(dtHalo), func(x *exec) {
		if c.halo.Rows > 0 {
			source(x, *dtHalo.m, c.halo, x.graph(l).HaloBack, x.fromHalo(a.edgeDrop, l))
		}
	})
	raw := d.plan.Layers[l].Raw
	if raw {
		d.returnRaw(n, c, dtHalo)
	} else {
		d.offer(l, Backward, dtHalo.all())
	}
	d.op(reads, list(dt), func(x *exec) {
		source(x, *dt.m, *c.t.m, x.graph(l).Backward.Inner, x.turned(a.edgeDrop, l))
		if !raw {
			x.addReturned(l, *dt.m)
		}
	})
	halo := list(dt)
	if d.replicated(l) {
		halo = append(halo, dtHalo)
	}
	d.op(halo, nil, func(x *exec) {
		x.q.ColSum(db, *dt.m, 1)
		if x.replicated(l) {
			x.q.ColSum(db, *dtHalo.m, 1)
		}
	})
	return dt, dr, dtHalo
}
