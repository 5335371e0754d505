package gnn

import (
	"slices"

	"capgnn/gpu"
)

// derived is a pass as operations.
type derived struct {
	forward, backward []op
	done              []int // by layer, how many operations of backward end with the last that touches its tensors
	result, rows      operand
	grad              *value
	shows             []*value        // by layer
	met               []func(x *exec) // operations in which parts meet, in their order
}

// derivation makes the operations of a pass out of the nodes of its program, and the values that they read and write.
type derivation struct {
	*Pass
	derived
	nodes   []*node
	ops     []op
	values  []*value
	table   *value       // of several values that the next layers read
	kept    *value       // what dropout leaves of features
	again   bool         // values of sparse ones are in the order of the transpose
	touched map[int]bool // layers whose tensors the last operations read or write
	waits   []waiting    // of the node whose gradient is being made
}

// derive makes the operations of the pass and requests what they need. Where it makes slabs smaller, an epilogue runs
// behind its aggregation.
func (p *Pass) derive() *derived {
	d := p.operations(-1)
	at := d.place()
	for i, n := range slices.Backward(d.nodes) {
		if !d.splits(n) {
			continue
		}
		e := p.operations(i)
		if other := e.place(); other.total+other.size[e.nodes[i].z]/2 < at.total { // about a slab less
			d, at = e, other
			break
		}
	}
	d.request(at)
	if p.drop != nil {
		p.drop.kept = d.kept
	}
	return &d.derived
}

// splits reports whether the epilogue of a node is inside an aggregation and writes rows apart from it.
func (d *derivation) splits(n *node) bool {
	return d.training() && n.then != nil && n.then.gamma != "" && n.then.batch == nil && slices.ContainsFunc(n.terms, func(t term) bool {
		return t.graph && !d.fixed(&t) && !d.plan.order(n, &t).AggregateFirst
	})
}

// operations makes those of the pass, with the epilogue of a node apart from its aggregation, if there is one of that
// number.
func (p *Pass) operations(apart int) *derivation {
	f, err := fuse(p.cfg.Program)
	if err != nil {
		panic("gnn: " + err.Error())
	}
	nodes, drop := f.nodes, f.drop
	d := &derivation{Pass: p, touched: map[int]bool{}}
	d.derived.done = make([]int, p.cfg.Layers)
	if apart >= 0 {
		nodes[apart].apart = true
	}
	for _, n := range nodes {
		for _, x := range n.reads() {
			if !slices.Contains(x.readers, n) {
				x.readers = append(x.readers, n)
			}
		}
	}
	if p.first > 0 {
		at := 0
		for _, x := range crossing(nodes, p.first-1) {
			x.begin = at
			at += x.cols
		}
	}
	outputs := nodes[len(nodes)-1:]
	if end := p.first + len(p.layers); end < p.cfg.Layers {
		if outputs = crossing(nodes, end-1); !p.alone {
			outputs = outputs[:1]
		}
	}
	needed := map[*node]bool{}
	var need func(n *node)
	need = func(n *node) {
		if n.begin >= 0 || needed[n] {
			return
		}
		needed[n] = true
		for _, x := range n.reads() {
			need(x)
		}
	}
	for _, n := range outputs {
		need(n)
	}
	d.nodes = nodes
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return !needed[n] })
	d.start(drop, outputs)
	for _, n := range nodes {
		d.forward(n)
	}
	d.end(nodes, outputs)
	return d
}

// start requests what dropout leaves of features, and the table of what a layer alone makes if that are several
// values.
func (d *derivation) start(drop *then, outputs []*node) {
	if drop != nil && d.training() {
		d.drop = &featureDrop{then: drop}
		d.kept = d.value(d.rowsAt(0), d.cfg.In, gpu.FP32)
		if d.in.X.sparse() {
			d.kept = d.value(count{rows: func(g *LayerGraph) int { return g.Stored }}, 1, gpu.FP32)
		}
		d.op(nil, list(d.kept), func(x *exec) { x.drop.forward(x) })
	}
	if len(outputs) > 1 {
		cols := 0
		for _, n := range outputs {
			n.end = cols
			cols += n.cols
		}
		d.table = d.value(d.rowsAt(d.first+1), cols, gpu.FP32)
	}
}

// end completes the forward pass and appends the backward pass.
func (d *derivation) end(nodes, outputs []*node) {
	d.result = d.read(outputs[0], outputs[0].level)
	last := nodes[len(nodes)-1]
	if d.rows = d.result; last.joins {
		d.rows = d.read(last.terms[0].x, last.level)
	}
	if d.table != nil {
		for _, n := range outputs {
			if n.h == nil || n.h.of == nil {
				x := d.read(n, d.first+1)
				d.op(list(x.v, d.table), list(d.table), func(e *exec) {
					e.q.Copy(d.table.m.ColRange(n.end, n.end+n.cols), x.dense(e))
				})
			}
		}
		d.result = d.table.all()
	}
	d.derived.forward = d.ops[:len(d.ops):len(d.ops)]
	if !d.training() {
		d.op(list(d.result.v, d.rows.v), nil, nil)
		return
	}
	d.grad = d.value(last.h.rows, last.cols, gpu.FP32, last.h)
	if last.then == nil {
		d.grad.t = d.gradType(last)
	}
	if d.grad.t == gpu.FP32 {
		last.shows = d.grad
	} else {
		d.grad.over = nil
	}
	d.op(list(last.h), list(d.grad), nil) // the loss
	last.grad = &gradient{v: d.grad, times: 1, base: 1}
	from := len(d.ops)
	clear(d.touched)
	clear(d.derived.done)
	for _, n := range slices.Backward(nodes) {
		for i := range n.terms {
			n.terms[i].turned = nil
		}
		d.backward(n)
	}
	d.freeze()
	d.derived.backward = d.ops[from:]
	most := 0
	for l := range slices.Backward(d.derived.done) {
		most = max(most, d.derived.done[l]-from)
		d.derived.done[l] = most
	}
	d.shows = make([]*value, d.cfg.Layers)
	for _, n := range nodes {
		if n.from == nil && !n.joins && !n.single && n.shows != nil {
			d.shows[n.layer] = n.shows
		}
	}
}
