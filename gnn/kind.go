package gnn

import "capgnn/gpu"

// Attends reports whether a model weighs neighbours by attention: a softmax over in-edges, in heads.
func (k Kind) Attends() bool { return k == GAT || k == GATv2 }

// Symmetric reports whether a model sums over neighbours with Â = D_in^-1/2 A D_out^-1/2, loops included.
func (k Kind) Symmetric() bool { return k == GCN || k == SGC || k == APPNP || k == GCNII }

// AddsLoops reports whether a model's definition has a loop at every vertex.
func (k Kind) AddsLoops() bool { return k.Symmetric() || k.Attends() }

// ScalesRows reports whether the entries of a model's adjacency weigh by their rows; those of symmetric ones weigh by
// their columns, too.
func (k Kind) ScalesRows() bool { return k.Symmetric() || k == SAGE }

// Precomputes reports whether layer 0 may read ÂX, made before the first epoch.
func (k Kind) Precomputes() bool { return k == GCN || k == SAGE || k == GIN || k == SGC }

// Precomputes reports whether layer 0 of training may read ÂX: not where features are dropped.
func (c Config) Precomputes() bool { return c.CanPrecompute() && !c.DropsFeatures() }

// ReadsOwn reports whether layer 0 reads a vertex's own features beside ÂX.
func (k Kind) ReadsOwn() bool { return k == SAGE || k == GIN }

// StoresBF16 reports whether the rows that aggregations gather may be stored in BF16.
func (k Kind) StoresBF16() bool { return k == GCN || k == SAGE || k == GIN }

// KeepsOrigin reports whether every layer adds a share of H⁰, what the model makes of the features by dense products
// alone.
func (k Kind) KeepsOrigin() bool { return k == APPNP || k == GCNII }

// Norms reports whether LayerNorm, an activation and dropout lie between layers. Config.NoNorm leaves LayerNorm out;
// such models may have residuals and jumping knowledge (Config.Residual, Config.Jumping).
func (k Kind) Norms() bool { return k == GCN || k == SAGE || k == GIN || k.Attends() }

// Chooses reports whether layer l has more than one order of operations.
func (c Config) Chooses(l int) bool {
	if c.Custom != nil {
		return c.Custom.layers[l].weighs
	}
	switch c.Kind {
	case GAT, GATv2, APPNP, GCNII:
		return false
	case SGC:
		return l == 0
	}
	return true
}

// hides reports whether the model has a hidden width.
func (c Config) hides() bool {
	return c.Kind != SGC && (c.HiddenLayers() > 0 || c.Kind.KeepsOrigin())
}

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
	nodes, _ := c.nodes()
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

// RowType returns the element type of the rows that layer l makes there, under plan p: several values side by side are
// FP32.
func (c Config) RowType(p Plan, l int) gpu.DType {
	nodes, _ := c.nodes()
	if l == c.Layers-1 || !p.Layers[l+1].AggregateFirst || len(crossing(nodes, l)) > 1 {
		return gpu.FP32
	}
	return c.GatherType(p, l+1, Forward)
}
