package gnn

// Attends reports whether a model weighs neighbours by attention: a softmax over in-edges, in heads.
func (k Kind) Attends() bool { return k == GAT || k == GATv2 }

// Symmetric reports whether a model sums over neighbours with Â = D_in^-1/2 A D_out^-1/2, loops included.
func (k Kind) Symmetric() bool { return k == GCN || k == SGC || k == APPNP || k == GCNII }

// AddsLoops reports whether a model's definition has a loop at every vertex.
func (k Kind) AddsLoops() bool { return k.Symmetric() || k.Attends() }

// Precomputes reports whether layer 0 may read ÂX, made before the first epoch.
func (k Kind) Precomputes() bool { return k == GCN || k == SAGE || k == GIN || k == SGC }

// KeepsOrigin reports whether every layer adds a share of H⁰, what the model makes of the features by dense products
// alone.
func (k Kind) KeepsOrigin() bool { return k == APPNP || k == GCNII }

// Norms reports whether LayerNorm, an activation and dropout lie between layers. Config.NoNorm leaves LayerNorm out,
// and with
// Config.BatchNorm it is another norm;
// such models may have residuals and jumping knowledge (Config.Residual, Config.Jumping).
func (k Kind) Norms() bool { return k == GCN || k == SAGE || k == GIN || k.Attends() }

// StoresBF16 reports whether the rows that aggregations gather may be stored in BF16.
func (k Kind) StoresBF16() bool { return k == GCN || k == SAGE || k == GIN }
