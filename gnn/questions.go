package gnn

import (
	"cmp"
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// What is asked of a model is read off its program.

// Program returns the model's program.
func (c Config) Program() *model.Program { return c.custom().Program }

// Identity returns what keys of files call the way in which the model sums over neighbours.
func (c Config) Identity() string {
	if c.Kind != "" {
		return string(c.Kind)
	}
	return c.Custom.Program.SHA256()
}

// Name returns what messages call the model.
func (c Config) Name() string { return cmp.Or(string(c.Kind), "program") }

// Width returns the columns of the rows that a layer sums over neighbours and of those that it makes, 0 ≤ layer < Layers.
func (c Config) Width(layer int) (in, out int) {
	l := &c.custom().layers[layer]
	return l.in, l.out
}

// ReadsNeighbours reports whether the model reads rows of neighbours. One that does not has one layer, without an
// exchange.
func (c Config) ReadsNeighbours() bool { return c.custom().Program.Depth()[c.Program().Logits] > 0 }

// Attends reports whether the model weighs neighbours by attention: a softmax over in-edges, in heads.
func (c Config) Attends() bool { return c.custom().layers[0].heads > 0 }

// DropsEdges reports whether training drops weights of attention.
func (c Config) DropsEdges() bool {
	return slices.ContainsFunc(c.custom().nodes, func(n *node) bool { return n.attend != nil && n.attend.p > 0 })
}

// pairs reports whether scores of attention are of pairs of rows.
func (c Config) pairs() bool { return c.custom().layers[0].pairs }

// Sums returns the kinds of sums over neighbours of a model of whose adjacency every entry has a value for each; nil:
// entries are scaled (ScalingOf).
func (c Config) Sums() []Sum { return c.custom().kinds }

// kinds returns how many values entries have.
func (c Config) kinds() int { return max(1, len(c.Sums())) }

// Symmetric reports whether entries of the model's adjacency are scaled by roots of degrees.
func (c Config) Symmetric() bool {
	w := c.custom().weights
	return w == model.Sym || w == model.GCNNorm
}

// ReadsWeights reports whether the model has a use for edge weights.
func (c Config) ReadsWeights() bool {
	p := c.custom()
	constants := p.Program.Constants()
	return p.weights != "" || slices.ContainsFunc(p.kinds, func(s Sum) bool {
		return s.What != "" || s.Node != "" && constants[p.Program.Index(s.Node)] > 0
	})
}

// ScalesRows reports whether the entries of the model's adjacency weigh by their rows; those of symmetric ones weigh by their columns, too.
func (c Config) ScalesRows() bool { return c.Symmetric() || c.custom().mean }

// CanPrecompute reports whether layer 0 sums features, so that evaluation may read ÂX.
func (c Config) CanPrecompute() bool { return !c.Attends() && c.custom().layers[0].features }

// Precomputes reports whether layer 0 of training may read ÂX: not where features are dropped.
func (c Config) Precomputes() bool { return c.CanPrecompute() && !c.DropsFeatures() }

// DropsFeatures reports whether training drops features.
func (c Config) DropsFeatures() bool { return c.custom().drop != nil }

// ReadsOwn reports whether layer 0 reads a vertex's own features beside ÂX.
func (c Config) ReadsOwn() bool { return c.custom().own }

// ReadsRows reports whether the model reads features as rows: sparse ones have to be made dense.
func (c Config) ReadsRows() bool { return c.custom().rows }

// KeepsOrigin reports whether layer 0 sums rows that the model makes of the features by more than a product, so that it exchanges them in every epoch.
func (c Config) KeepsOrigin() bool { return !c.custom().layers[0].features }

// StoresBF16 reports whether the rows that aggregations gather may be stored in BF16.
func (c Config) StoresBF16() bool {
	return !slices.ContainsFunc(c.custom().layers, func(l customLayer) bool { return !l.weighs })
}

// Chooses reports whether layer l has more than one order of operations.
func (c Config) Chooses(l int) bool { return c.custom().layers[l].weighs }

// addsOwn reports whether layer l adds rows of the vertex itself to its sum, before the product.
func (c Config) addsOwn(l int) bool { return c.custom().layers[l].own }

// HiddenLayers returns how many layers make rows that are not the logits: all but the last, and with jumping
// knowledge all.
func (c Config) HiddenLayers() int {
	if c.Jumping {
		return c.Layers
	}
	return c.Layers - 1
}

// RowWidth returns the columns of the rows that layer l reads and makes where a pass has one layer alone
// (NewLayerPass): all that further layers read.
func (c Config) RowWidth(l int) (in, out int) {
	nodes := c.custom().nodes
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
	nodes := c.custom().nodes
	rows := crossing(nodes, l)
	if l == c.Layers-1 || !p.Layers[l+1].AggregateFirst || len(rows) != 1 || rows[0].then == nil || rows[0].from != nil ||
		slices.ContainsFunc(nodes, func(r *node) bool { return r.needsWide(rows[0]) }) {
		return gpu.FP32
	}
	return c.GatherType(p, l+1, Forward)
}
