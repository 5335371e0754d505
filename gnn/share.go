package gnn

import "capgnn/gpu"

// share is where an operation puts a share of a gradient: the first rows of v, written by the first one, and then all
// of them, else added.
type share struct {
	v    *value
	rows count
	add  bool
}

func (s share) at(x *exec) gpu.Matrix { return s.v.m.RowRange(0, s.rows.in(x.layers)) }

// share returns where that of the rows of a level of what a node makes goes.
func (d *derivation) share(n *node, level int) share {
	s := share{rows: d.count(n, level), add: true}
	g := n.grad
	if g == nil {
		v := (*value)(nil)
		if n.of == nil {
			v = d.value(d.count(n, n.level), n.cols, gpu.FP32)
		} else {
			if n.of.grad == nil {
				n.of.grad = &gradient{v: d.value(d.rowsAt(n.level), n.of.cols, gpu.FP32), times: 1, base: 1}
			}
			v = d.columns(n.of.grad.v, n.lo, n.cols)
		}
		g = &gradient{v: v, times: 1, base: 1}
		n.grad = g
		if s.add = level > n.level && !n.single; s.add {
			d.op(nil, list(g.v), func(x *exec) { x.q.Fill(*g.v.m, 0) })
		}
	}
	s.v = g.v
	return s
}

// addTo appends factor·v as a share of the gradient of what a node makes.
func (d *derivation) addTo(n *node, level int, factor float64, v *value) {
	if v.t != gpu.FP32 {
		wide := d.value(v.rows, v.cols, gpu.FP32)
		from := v
		d.op(list(from), list(wide), func(x *exec) { x.q.Copy(*wide.m, *from.m) })
		v = wide
	}
	if n.single && v.rows.rows != nil { // of rows, each of which has added the one row
		v = d.collected(n, v)
	}
	s := d.share(n, level)
	d.op(reading(s.v, s.add, v), list(s.v), func(x *exec) { x.q.Axpby(s.at(x), float32(factor), *v.m, beta(s.add)) })
}

// productTo appends v·w as a share of the gradient of what a node makes.
func (d *derivation) productTo(n *node, level int, v *value, w weight) {
	s := d.share(n, level)
	d.op(reading(s.v, s.add, v, w.v), list(s.v), func(x *exec) {
		if c := s.at(x); c.Rows > 0 {
			x.gemm(gpu.GemmArgs{C: c, A: *v.m, B: w.at(), Beta: beta(s.add)})
		}
	})
}

// rooted returns v with rows of zeros behind its own where a term reads sparse features at fewer rows than the first
// layer makes, which those of the transpose are.
func (d *derivation) rooted(n *node, t *term, v *value) *value {
	if !d.sparse(t.x) || n.level <= 1 {
		return v
	}
	all := d.value(d.rowsAt(1), v.cols, gpu.FP32)
	d.op(list(v), list(all), func(x *exec) {
		x.q.Fill(*all.m, 0)
		x.q.Copy(all.m.RowRange(0, v.m.Rows), *v.m)
	})
	return all
}
