package gnn

import (
	"cmp"
	"slices"

	"capgnn/gpu"
)

// Exchange is what parts send each other of one layer in one direction, in every epoch.
type Exchange struct {
	Layer    int
	Dir      Direction
	Width    int       // columns of a row
	Type     gpu.DType // of its elements
	Exact    int       // how many of the last columns are scores, which no encoding may round
	Kept     bool      // rows are read again in the backward pass
	Fixed    bool      // rows are the features, the same in all epochs
	Returned bool      // rows are gradients of halo rows, which go to the owners, who add them up
	Ages     bool      // rows may be of an earlier epoch
}

// Exchanges returns those of a training epoch under plan p, in its order.
func (c Config) Exchanges(p Plan) []Exchange {
	nodes, drop := c.nodes, c.drop
	var forward, backward []Exchange
	add := func(x *node, f, b Exchange) {
		if x == nil && p.Input != Exchanged {
			return
		}
		if forward = append(forward, f); b.Width > 0 {
			backward = append(backward, b)
		}
	}
	for _, n := range nodes {
		if n.attend != nil {
			f, b := c.attended(p, n)
			add(n.attend.x, f, b)
		}
		if g := n.gathers; g != nil {
			f, b := c.exchange(p, n.layer, Forward, g.width(c)), c.exchange(p, n.layer, Backward, n.cols+g.sent)
			f.Kept = slices.ContainsFunc(g.messages, func(m *node) bool { return m.message.dots != nil })
			if f.Fixed = g.features() && drop == nil; g.features() {
				b.Width = 0
			}
			add(g.xs[0], f, b)
		}
		for i := range n.terms {
			if t := &n.terms[i]; t.graph {
				f, b := c.spread(p, n, t, drop)
				add(t.x, f, b)
			}
		}
	}
	byLayer := func(a, b Exchange) int { return cmp.Compare(a.Layer, b.Layer) }
	slices.SortFunc(forward, byLayer)
	slices.SortFunc(backward, byLayer)
	slices.Reverse(backward)
	return append(forward, backward...)
}

// exchange returns one of layer l.
func (c Config) exchange(p Plan, l int, dir Direction, width int) Exchange {
	return Exchange{Layer: l, Dir: dir, Width: width, Type: c.GatherType(p, l, dir), Ages: p.Ages(l)}
}

// spread returns the exchanges of a sum over neighbours: of the rows that are summed up, and of the gradients.
func (c Config) spread(p Plan, n *node, t *term, drop *then) (f, b Exchange) {
	in, lp := c.width(t.x), p.order(n, t)
	f, b = c.exchange(p, n.layer, Forward, n.cols), c.exchange(p, n.layer, Backward, n.cols)
	if t.w == "" || lp.AggregateFirst {
		f.Width, f.Fixed = in, t.x == nil && drop == nil
	}
	if lp.BackwardIn {
		if b.Width = in; t.x == nil { // features have no gradient
			b.Width = 0
		}
	}
	return f, b
}

// attended returns the exchanges of attention: of T and of what GAT's gradient of T is made of, or of rows of x and their
// gradients.
func (c Config) attended(p Plan, n *node) (f, b Exchange) {
	a, lp := n.attend, p.Layers[n.layer]
	width := a.width
	if lp.Raw {
		width = c.width(a.x)
	}
	f, b = c.exchange(p, n.layer, Forward, width), c.exchange(p, n.layer, Backward, width)
	f.Kept, b.Returned = true, lp.Returns
	if !lp.Returns {
		b.Exact = 3 * a.heads // d, L and g
		b.Width += b.Exact
	}
	return f, b
}

// width returns the columns of what a node makes, nil for the features.
func (c Config) width(n *node) int {
	if n == nil {
		return c.In
	}
	return n.cols
}

// order is that of a term's sum over neighbours. What other rows are mixed into, or a matrix made of a weight and the
// identity multiplies, is summed up first, forward and backward.
func (p Plan) order(n *node, t *term) LayerPlan {
	if t.mix || t.blends() {
		return LayerPlan{AggregateFirst: true, KeepAggregate: true}
	}
	if lp := p.Layers[n.layer]; !t.scales() || !lp.AggregateFirst {
		return lp
	}
	return aggregateIn
}
