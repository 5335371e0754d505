package gnn

import (
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// What is asked of a model is read off its program.

// Identity returns what keys of files call the way in which the model sums over neighbours.
func (c Config) Identity() string {
	if c.kinds != nil {
		return c.Program.SHA256()
	}
	return fmt.Sprint(c.weights, c.mean, c.Program.Graphs)
}

// Width returns the columns of the rows that a layer sums over neighbours and of those that it makes, 0 ≤ layer < Layers.
func (c Config) Width(layer int) (in, out int) {
	l := &c.layers[layer]
	return l.in, l.out
}

// ReadsNeighbours reports whether the model reads rows of neighbours. One that does not has one layer, without an
// exchange.
func (c Config) ReadsNeighbours() bool { return c.Program.Depth()[c.Program.Logits] > 0 }

// Attends reports whether the model weighs neighbours by attention: a softmax over in-edges, in heads.
func (c Config) Attends() bool { return c.layers[0].heads > 0 }

// DropsEdges reports whether training drops weights of attention.
func (c Config) DropsEdges() bool {
	return slices.ContainsFunc(c.nodes, func(n *node) bool {
		return n.attend != nil && n.attend.p > 0 || n.message != nil && n.message.dots != nil && n.message.dots.p > 0
	})
}

// pairs reports whether scores of attention are of pairs of rows.
func (c Config) pairs() bool { return c.layers[0].pairs }

// Sums returns the kinds of sums over neighbours of a model of whose adjacency every entry has a value for each; nil:
// entries are scaled (ScalingOf).
func (c Config) Sums() []Sum { return c.kinds }

// values returns how many values entries have.
func (c Config) values() int { return max(1, len(c.Sums())) }

// Symmetric reports whether entries of the model's adjacency are scaled by roots of degrees.
func (c Config) Symmetric() bool {
	w := c.weights
	return w == model.Sym || w == model.GCNNorm
}

// ReadsWeights reports whether the model has a use for edge weights.
func (c Config) ReadsWeights() bool {
	constants := c.Program.Constants()
	return c.weights != "" || slices.ContainsFunc(c.kinds, func(s Sum) bool {
		return s.What != "" || s.Node != "" && constants[c.Program.Index(s.Node)] > 0
	})
}

// ScalesRows reports whether the entries of the model's adjacency weigh by their rows; those of symmetric ones weigh by their columns, too.
func (c Config) ScalesRows() bool { return c.Symmetric() || c.mean }

// CanPrecompute reports whether layer 0 sums features, so that evaluation may read ÂX.
func (c Config) CanPrecompute() bool { return !c.Attends() && c.layers[0].features }

// Precomputes reports whether layer 0 of training may read ÂX: not where features are dropped.
func (c Config) Precomputes() bool { return c.CanPrecompute() && !c.DropsFeatures() }

// DropsFeatures reports whether training drops features.
func (c Config) DropsFeatures() bool { return c.drop != nil }

// ReadsOwn reports whether layer 0 reads a vertex's own features beside ÂX.
func (c Config) ReadsOwn() bool { return c.own }

// ReadsRows reports whether the model reads features as rows: sparse ones have to be made dense.
func (c Config) ReadsRows() bool { return c.rows }

// KeepsOrigin reports whether layer 0 sums rows that the model makes of the features by more than a product, so that it exchanges them in every epoch.
func (c Config) KeepsOrigin() bool { return !c.layers[0].features }

// StoresBF16 reports whether the rows that aggregations gather may be stored in BF16.
func (c Config) StoresBF16() bool {
	return !slices.ContainsFunc(c.layers, func(l modelLayer) bool { return !l.weighs })
}

// Messages reports whether sums over neighbours are of functions of both ends of edges, or the largest of them: rows of other parts
// have to be those of the same epoch, as they are.
func (c Config) Messages() bool {
	return slices.ContainsFunc(c.nodes, func(n *node) bool { return n.message != nil })
}

// Chooses reports whether layer l has more than one order of operations.
func (c Config) Chooses(l int) bool { return c.layers[l].weighs }

// addsOwn reports whether layer l adds rows of the vertex itself to its sum, before the product.
func (c Config) addsOwn(l int) bool { return c.layers[l].own }

// HiddenLayers returns how many layers make rows that are not the logits: all but the last, and with jumping
// knowledge all.
func (c Config) HiddenLayers() int {
	if c.nodes[len(c.nodes)-1].joins {
		return c.Layers
	}
	return c.Layers - 1
}

// RowWidth returns the columns of the rows that layer l reads and makes where a pass has one layer alone
// (NewLayerPass): all that further layers read.
func (c Config) RowWidth(l int) (in, out int) {
	nodes := c.nodes
	width := func(l int) (cols int) {
		for _, n := range crossing(nodes, l) {
			cols += n.cols
		}
		return cols
	}
	if in, out = c.In, c.Out; l > 0 {
		in = width(l - 1)
	}
	if l < c.Layers-1 {
		out = width(l)
	}
	return in, out
}

// RowType returns the element type of the rows that layer l makes there, under plan p: FP32 of several values side
// by side, and where more than sums over neighbours and products read them.
func (c Config) RowType(p Plan, l int) gpu.DType {
	nodes := c.nodes
	rows := crossing(nodes, l)
	if l == c.Layers-1 || !p.Layers[l+1].AggregateFirst || len(rows) != 1 || rows[0].then == nil || rows[0].from != nil ||
		slices.ContainsFunc(nodes, func(r *node) bool { return r.needsWide(rows[0]) }) {
		return gpu.FP32
	}
	return c.GatherType(p, l+1, Forward)
}
