package gnn

import (
	"cmp"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// Sum says how a program sums over neighbours: over which of its graphs, with which weights of edges, and whether it
// takes the mean.
type Sum struct {
	Graph string
	What  string // model.EdgeWeight, Sym, GCNNorm; "": 1, or as Node says
	Node  string // of the program: a constant of edges (model.Program.Constants) that are the weights
	Mean  bool   // divided by the number of in-edges, if there are any
}

// factors reports whether entries of a sum weigh by their rows and columns, and by the weights of the data set's edges,
// so that it is a sum over the data set's graph, perhaps with loops or without.
func (s Sum) factors(p *model.Program) bool {
	g := &p.Graphs[slices.IndexFunc(p.Graphs, func(g model.Graph) bool { return g.Name == s.Graph })]
	return s.Node == "" && (!s.Mean || s.What == "" || s.What == model.EdgeWeight) && (g.Of == "" || g.Weight == 1 &&
		(g.Do == model.FullLoops || g.Do == model.NoLoops) &&
		slices.ContainsFunc(p.Graphs, func(of model.Graph) bool { return of.Name == g.Of && of.Of == "" }))
}

// gathering is all sums over neighbours of a depth, side by side. Parts send each other what they sum up side by side,
// and back the gradients of the sums.
type gathering struct {
	xs       []*node // what is summed up; nil: the features
	runs     []run
	messages []*node // sums of messages, whose ends lie among xs
	sent     int     // columns of what they send of gradients

	// In a pass:
	rows operand    // what is summed up, side by side
	halo gpu.Matrix // the same of other parts, until the next exchange
	back *value     // what is sent of gradients, those of the sums first
}

// run is sums of one kind of values that lie side by side.
type run struct {
	kind     int // number of their kind
	from, to int // first columns, of what is summed up and of the sums
	cols     int
}

// summed returns how value i sums over neighbours, if it does with constant weights.
func (f *fusion) summed(i int) (s Sum, ok bool) {
	count := ""
	if f.op(i) == model.Div && f.Nodes[f.in(i, 1)].What == model.InCount {
		s.Mean, count = true, f.Nodes[f.in(i, 1)].Graph
		i = f.in(i, 0)
	}
	if s.Graph = f.Nodes[i].Graph; f.op(i) != model.SumIn || s.Mean && count != s.Graph {
		return s, false
	}
	e := f.in(i, 0)
	if k := f.weight(e); k >= 0 {
		s.weigh(&f.Nodes[f.in(e, k)])
		e = f.in(e, 1-k)
	}
	return s, f.op(e) == model.Src && f.wide(f.in(e, 0), f.Nodes[i].Columns())
}

// weigh has entries weigh by a constant of edges.
func (s *Sum) weigh(w *model.Node) {
	if slices.Contains([]string{model.EdgeWeight, model.Sym, model.GCNNorm}, w.What) {
		s.What = w.What
	} else {
		s.Node = w.Name
	}
}

// weight returns which input of a product of edges is a constant by which the other one is weighed, −1: none.
func (f *fusion) weight(e int) int {
	if f.op(e) != model.Mul {
		return -1
	}
	return slices.IndexFunc(f.Nodes[e].In, func(k int) bool {
		return f.Nodes[k].Space == f.Nodes[e].Space && f.constants[k] != model.NoConstant
	})
}

// source returns what a sum over neighbours sums up.
func (f *fusion) source(i int) int {
	for f.op(i) != model.Src {
		k := 0
		if f.op(i) == model.Mul {
			k = 1 - f.weight(i)
		}
		i = f.in(i, k)
	}
	return f.in(i, 0)
}

// gather makes the node of all sums over neighbours of a layer, and the nodes of each.
func (f *fusion) gather(layer int) {
	type sum struct {
		i, x, kind int
	}
	var sums []sum
	n := &node{layer: layer, level: layer + 1, begin: -1, end: -1, gathers: &gathering{}}
	g := n.gathers
	add := func(i int) int {
		x := f.value(i)
		if !slices.Contains(g.xs, x) {
			g.xs = append(g.xs, x)
		}
		return slices.Index(g.xs, x)
	}
	var edges []*edgeSum
	for i := range f.Nodes {
		if f.reach[i] < 0 || f.depth[i]-1 != layer || !f.readAsIs(i) {
			continue
		}
		if e := f.edgeSum(i); e != nil {
			f.counts(e.Sum)
			edges = append(edges, e)
			if e.c = add(e.c); e.x >= 0 {
				e.x = add(e.x)
			}
			continue
		}
		kind, ok := f.summed(i)
		if !ok {
			continue
		}
		f.adjacency(i)
		sums = append(sums, sum{i, add(f.source(i)), slices.Index(f.kinds, kind)})
	}
	slices.SortStableFunc(sums, func(a, b sum) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.x, b.x)) })
	from := []int{0} // by x, and behind the last
	for _, x := range g.xs {
		from = append(from, from[len(from)-1]+columnsOf(x, f.Features))
	}
	at := map[[2]int]*node{} // by kind and x
	for _, s := range sums {
		key, cols := [2]int{s.kind, s.x}, f.Nodes[s.i].Columns()
		if at[key] == nil {
			at[key] = &node{of: n, lo: n.cols, layer: layer, level: n.level, cols: cols, begin: -1, end: -1}
			if k := len(g.runs) - 1; k >= 0 && g.runs[k].kind == s.kind && g.runs[k].from+g.runs[k].cols == from[s.x] {
				g.runs[k].cols += cols
			} else {
				g.runs = append(g.runs, run{kind: s.kind, from: from[s.x], to: n.cols, cols: cols})
			}
			n.cols += cols
		}
		f.made[s.i] = at[key]
	}
	f.nodes = append(f.nodes, n)
	for _, s := range sums {
		if part := f.made[s.i]; part.cols == n.cols {
			f.made[s.i] = n
		} else if !slices.Contains(f.nodes, part) {
			f.nodes = append(f.nodes, part)
		}
	}
	for _, e := range edges {
		f.message(n, e)
	}
}

// readAsIs reports whether anything but a mean reads a sum over neighbours.
func (f *fusion) readAsIs(i int) bool {
	if i == f.Logits || f.op(i) == model.Div {
		return true
	}
	for k := range f.Nodes {
		n := &f.Nodes[k]
		if f.reach[k] < 0 || !slices.Contains(n.In, i) {
			continue
		}
		if _, mean := f.summed(k); !mean {
			return true
		}
	}
	return false
}

func columnsOf(n *node, features int) int {
	if n == nil {
		return features
	}
	return n.cols
}

// width returns the columns of what is summed up.
func (g *gathering) width(c Config) (cols int) {
	for _, x := range g.xs {
		cols += c.width(x)
	}
	return cols
}

// given reports whether the sums of a node were made before the first epoch.
func (d *derivation) given(n *node) bool {
	return n.gathers != nil && n.gathers.features() && d.plan.Input == Precomputed
}

// features reports whether features alone are summed up.
func (g *gathering) features() bool { return len(g.xs) == 1 && g.xs[0] == nil }

// kind returns the operand of a kind of sums.
func (o Operand) kind(k, of int) Operand {
	for _, a := range []*gpu.CSR{&o.Inner, &o.Halo} {
		n := a.Val.Len / of
		a.Val = a.Val.Slice(k*n, (k+1)*n)
	}
	return o
}

// gatherAll appends the sums of a node.
func (d *derivation) gatherAll(n *node) {
	g := n.gathers
	if n.cols > 0 {
		n.z = d.wide(d.rowsAt(n.level), n.cols)
	}
	if n.h = n.z; d.given(n) {
		n.h, n.z = nil, nil
		return
	}
	x := d.read(g.xs[0], n.layer)
	if len(g.xs) > 1 {
		all, at := d.wide(d.rowsAt(n.layer), g.width(d.cfg)), 0
		for _, of := range g.xs {
			to, from := d.columns(all, at, d.cfg.width(of)), d.read(of, n.layer)
			d.op(list(from.v), list(to), func(x *exec) { x.q.Copy(*to.m, from.dense(x)) })
			at += to.cols
		}
		x = all.all()
	}
	g.rows = x
	d.offer(n.layer, Forward, x)
	d.op(list(x.v), present(list(n.z)), func(e *exec) {
		var y gpu.Matrix
		if n.z != nil {
			y = *n.z.m
		}
		e.gather(n, Forward, y, x.dense(e))
	})
}

// gatherAllBack appends the gradient of what is summed up.
func (d *derivation) gatherAllBack(n *node, dz *value) {
	g := n.gathers
	if g.features() {
		return
	}
	all, at := d.wide(d.rowsAt(n.layer), g.width(d.cfg)), 0
	if g.messages != nil {
		dz = d.sent(n, dz)
	}
	d.offer(n.layer, Backward, dz.all())
	d.op(list(dz), list(all), func(x *exec) {
		x.q.Fill(*all.m, 0)
		x.gather(n, Backward, *all.m, *dz.m)
	})
	for _, m := range g.messages {
		d.messageToSources(m, dz, all)
	}
	for _, x := range g.xs {
		cols := d.cfg.width(x)
		if x != nil {
			d.addTo(x, n.layer, 1, d.columns(all, at, cols))
		}
		at += cols
	}
}

// gather runs the sums of a node, or adds those of their gradients.
func (x *exec) gather(n *node, dir Direction, y, rows gpu.Matrix) {
	each := func(rows gpu.Matrix, add bool, of func(o Operand) (gpu.CSR, gpu.Vec)) {
		for _, r := range n.gathers.runs {
			from, to, op := r.from, r.to, x.graph(n.layer).Forward
			if dir == Backward {
				from, to, op = r.to, r.from, x.graph(n.layer).Backward
			}
			op = op.kind(r.kind, x.cfg.values())
			a := gpu.AggregateArgs{Y: y.ColRange(to, to+r.cols), X: rows.ColRange(from, from+r.cols), RowScale: op.RowScale, Accumulate: add}
			a.A, a.ColScale = of(op)
			x.q.Aggregate(a)
		}
	}
	each(rows, dir == Backward, func(o Operand) (gpu.CSR, gpu.Vec) { return o.Inner, o.ColScale })
	n.gathers.halo = gpu.Matrix{}
	if x.exchanges(n.layer) {
		if halo := x.halo.Wait(x.q, n.layer, dir); dir == Forward || halo.Rows > 0 {
			each(halo, true, func(o Operand) (gpu.CSR, gpu.Vec) { return o.Halo, o.HaloScale })
			n.gathers.halo = halo
		}
	}
}

// columns returns some columns of a value.
func (d *derivation) columns(v *value, lo, cols int) *value {
	c := d.value(v.rows, cols, v.t)
	if c.of, c.lo = v, lo; v.of != nil {
		c.of, c.lo = v.of, v.lo+lo
	}
	return c
}

// beside appends values side by side.
func (d *derivation) beside(n *node) {
	for i := range n.terms {
		t := &n.terms[i]
		y, x := d.columns(n.z, t.to, t.cols), d.read(t.x, n.level)
		if t.w != "" {
			d.project(y, x, d.weight(d.params, t), gpu.Vec{}, false, d.sparse(t.x))
			continue
		}
		d.op(list(x.v), list(y), func(e *exec) { e.q.Copy(*y.m, x.dense(e)) })
	}
	d.follow(n)
}
