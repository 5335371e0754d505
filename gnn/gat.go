package gnn

import "capgnn/gpu"

// gat appends graph attention (Veličković et al., ICLR 2018). Rows without halo columns are made while the exchange
// is under way: of T, or where rows may be stale of x, which this part then transforms itself.
func (d *derivation) gat(n *node, c *attended) {
	a, l, in := n.attend, n.layer, d.read(n.attend.x, n.layer)
	raw := d.plan.Layers[l].Raw
	w, aSrc, aDst := d.params.mat(d.touch(a.w)), d.vec(d.params, a.aSrc), d.vec(d.params, a.aDst)
	if raw {
		d.offer(l, Forward, in)
	}
	d.transformed(n, c, in, w, gpu.Vec{})
	d.op(list(c.t), list(c.s, c.d), func(x *exec) {
		lg, t := x.graph(l), *c.t.m
		if !raw {
			x.offer(l, Forward, t)
		}
		x.q.GATScores(c.s.m.RowRange(0, lg.Rows), *c.d.m, t.RowRange(0, lg.Rows), aSrc, aDst)
		if lg.Src > lg.Rows {
			x.q.GATScores(c.s.m.RowRange(lg.Rows, lg.Src), gpu.Matrix{}, t.RowRange(lg.Rows, lg.Src), aSrc, gpu.Vec{})
		}
	})
	d.op(list(c.t, c.s, c.d, c.tHalo), list(c.o, c.lse, c.sHalo, c.tHalo), func(x *exec) {
		lg, exchange := x.graph(l), x.exchanges(l)
		args := gpu.GATArgs{O: *c.o.m, LSE: *c.lse.m, Inner: lg.Forward.Inner, T: *c.t.m, S: *c.s.m, D: *c.d.m,
			Slope: a.slope, Drop: x.edges(a.edgeDrop, l)}
		rows := func(lo, hi int) {
			args.Lo, args.Hi = lo, hi
			x.q.GATAggregate(args)
		}
		lg.central(exchange, rows)
		c.haloRows(x, l, w, gpu.Vec{}, raw)
		if c.halo.Rows > 0 {
			x.q.GATScores(*c.sHalo.m, gpu.Matrix{}, c.halo, aSrc, gpu.Vec{})
			args.Halo, args.THalo, args.SHalo = lg.Forward.Halo, c.halo, *c.sHalo.m
		}
		lg.others(exchange, rows)
	})
}

// gatBack appends the gradient of T. Parts send each other dO, d, L and g of their rows, or where rows may be stale
// return gradients of halo rows of x.
func (d *derivation) gatBack(n *node, c *attended, dz *value) (dt, dtHalo *value) {
	a, l, rows := n.attend, n.layer, d.rowsAt(n.level)
	width, heads, src, halo := a.width, a.heads, d.rowsAt(l), d.haloOf(l)
	returns := d.plan.Layers[l].Returns
	e := d.value(rows, width+3*heads, gpu.FP32)
	columns := func(e gpu.Matrix) (do, d, lse, g gpu.Matrix) {
		w, h := width, heads
		return e.ColRange(0, w), e.ColRange(w, w+h), e.ColRange(w+h, w+2*h), e.ColRange(w+2*h, w+3*h)
	}
	d.op(list(dz, c.d, c.lse), list(e), func(x *exec) {
		do, dd, lse, _ := columns(*e.m)
		if a.mean {
			x.q.HeadMeanBackward(do, *dz.m)
		} else {
			x.q.Copy(do, *dz.m)
		}
		x.q.Copy(dd, *c.d.m)
		x.q.Copy(lse, *c.lse.m)
	})
	dd, ds := d.value(rows, heads, gpu.FP32), d.value(src, heads, gpu.FP32)
	dt = d.value(src, width, gpu.FP32)
	d.op(list(e, c.o, c.lse, c.t, c.s, c.d, c.tHalo, c.sHalo), list(dd, e), func(x *exec) {
		do, _, _, g := columns(*e.m)
		lg := x.graph(l)
		dst := gpu.GATGradDst{DD: *dd.m, G: g, DO: do, O: *c.o.m, LSE: *c.lse.m, Inner: lg.Forward.Inner,
			T: *c.t.m, S: *c.s.m, D: *c.d.m, Slope: a.slope, Drop: x.edges(a.edgeDrop, l)}
		if c.halo.Rows > 0 {
			dst.Halo, dst.THalo, dst.SHalo = lg.Forward.Halo, c.halo, *c.sHalo.m
		}
		x.q.GATBackwardDst(dst)
	})
	grad := func() gpu.GATGradSrc {
		do, dd, lse, g := columns(*e.m)
		return gpu.GATGradSrc{DO: do, D: dd, LSE: lse, G: g, Slope: a.slope}
	}
	aSrc, aDst := d.vec(d.params, a.aSrc), d.vec(d.params, a.aDst)
	daSrc, daDst := d.vec(d.Pass.grads, a.aSrc), d.vec(d.Pass.grads, a.aDst)
	var dsHalo *value
	haloGrads := func(x *exec) {
		if dtHalo.m.Rows == 0 {
			return
		}
		s := grad()
		s.DT, s.DS, s.T, s.S, s.Inner = *dtHalo.m, *dsHalo.m, c.halo, *c.sHalo.m, x.graph(l).HaloBack
		s.Drop = x.fromHalo(a.edgeDrop, l)
		x.q.GATBackwardSrc(s)
		x.q.GATScoresBackward(gpu.GATScoresGrad{T: c.halo, DT: *dtHalo.m, DS: *dsHalo.m, ASrc: aSrc, DASrc: daSrc})
	}
	if returns || d.replicated(l) {
		dtHalo, dsHalo = d.value(halo, width, gpu.FP32), d.value(halo, heads, gpu.FP32)
	}
	if returns {
		d.op(list(e, c.tHalo, c.sHalo), list(dtHalo, dsHalo), func(x *exec) {
			if x.exchanges(l) {
				haloGrads(x)
			}
		})
		d.returnRaw(n, c, dtHalo)
	}
	d.op(list(e, c.t, c.s), list(dt, ds), func(x *exec) {
		s, lg := grad(), x.graph(l)
		s.DT, s.DS, s.T, s.S, s.Inner = *dt.m, *ds.m, *c.t.m, *c.s.m, lg.Backward.Inner
		s.Drop = x.turned(a.edgeDrop, l)
		if x.exchanges(l) && !returns {
			x.halo.Begin(x.q, l, Backward, *e.m)
			if rows := x.halo.Wait(x.q, l, Backward); rows.Rows > 0 {
				s.Halo = lg.Backward.Halo
				s.DOHalo, s.DHalo, s.LSEHalo, s.GHalo = columns(rows)
			}
		}
		x.q.GATBackwardSrc(s)
	})
	d.op(list(c.t, dt, ds, dd), list(dt), func(x *exec) {
		lg, t := x.graph(l), *c.t.m
		s := gpu.GATScoresGrad{ASrc: aSrc, ADst: aDst, DASrc: daSrc, DADst: daDst, DD: *dd.m}
		s.T, s.DT, s.DS = t.RowRange(0, lg.Rows), dt.m.RowRange(0, lg.Rows), ds.m.RowRange(0, lg.Rows)
		x.q.GATScoresBackward(s)
		if lg.Src > lg.Rows {
			s.ADst, s.DADst, s.DD = gpu.Vec{}, gpu.Vec{}, gpu.Matrix{}
			lo, hi := lg.Rows, lg.Src
			s.T, s.DT, s.DS = t.RowRange(lo, hi), dt.m.RowRange(lo, hi), ds.m.RowRange(lo, hi)
			x.q.GATScoresBackward(s)
		}
	})
	if d.replicated(l) {
		d.op(list(e, c.tHalo, c.sHalo), list(dtHalo, dsHalo), haloGrads)
	}
	return dt, dtHalo
}
