package named

import (
	"slices"

	"capgnn/model"
)

// Kind is the name of a model.
type Kind string

// The models on which tests try what all have.
const (
	GCN   Kind = "gcn"
	SAGE  Kind = "sage"
	GIN   Kind = "gin"
	GAT   Kind = "gat"
	GATv2 Kind = "gatv2"
	SGC   Kind = "sgc"
	APPNP Kind = "appnp"
	GCNII Kind = "gcnii"
)

// Kinds lists them.
var Kinds = []Kind{GCN, SAGE, GIN, GAT, GATv2, SGC, APPNP, GCNII}

func (k Kind) builder() model.Builder {
	b, err := model.Named(string(k))
	if err != nil {
		panic(err)
	}
	return b
}

// Norms reports whether a norm, an activation and dropout lie between layers.
func (k Kind) Norms() bool { return k.builder().Has("norm") }

// Attends reports whether neighbours are weighed by attention.
func (k Kind) Attends() bool { return k.builder().Has("heads") }

// AddsLoops reports whether the definition has a loop at every vertex.
func (k Kind) AddsLoops() bool { return k.builder().Loops == model.FullLoops }

// Symmetric reports whether sums over neighbours are scaled by roots of degrees.
func (k Kind) Symmetric() bool { return k.AddsLoops() && !k.Attends() }

// KeepsOrigin reports whether every layer adds a share of what dense products make of the features.
func (k Kind) KeepsOrigin() bool { return k.builder().Has("teleport") }

// Precomputes reports whether sums of features over neighbours may be made before the first epoch.
func (k Kind) Precomputes() bool { return !k.Attends() && !k.KeepsOrigin() }

// StoresBF16 reports whether the rows that are summed over neighbours may be stored in BF16.
func (k Kind) StoresBF16() bool { return slices.Contains([]Kind{GCN, SAGE, GIN}, k) }

// Model is one with its settings, as model.Arguments has them.
type Model struct {
	Program                              *model.Program // in place of what follows it up to Multi; nil: Kind says it
	Kind                                 Kind
	Layers, Hidden, In, Out, Heads       int
	Alpha, Theta                         float64
	NoNorm, BatchNorm, Residual, Jumping bool
	Norm, JK                             string // where none of those four says them
	Activation                           model.Op
	Dropout                              float64
	DropFeatures                         bool
	AttentionDropout                     float64
	Multi                                bool
	Seed                                 uint64
}

// Build returns the program, or what is wrong with the settings.
func (m Model) Build() (*model.Program, error) {
	if m.Program != nil {
		return m.Program, nil
	}
	norm, jk := m.Norm, m.JK
	switch {
	case m.NoNorm:
		norm = model.NormNone
	case m.BatchNorm:
		norm = model.NormBatch
	}
	if m.Jumping {
		jk = model.JKCat
	}
	return m.Kind.builder().Build(model.Arguments{In: m.In, Out: m.Out, Layers: m.Layers, Hidden: m.Hidden, Heads: m.Heads, Alpha: m.Alpha,
		Theta: m.Theta, Norm: norm, Residual: m.Residual, JK: jk, Activation: m.Activation,
		Dropout: m.Dropout, DropFeatures: m.DropFeatures, AttentionDropout: m.AttentionDropout})
}

// Config returns the model as gnn.Config: make is gnn.NewModel, whose tests use this package, too. Settings are valid.
func Config[C any, M interface {
	Config(multi bool, seed uint64) C
}](m Model, make func(*model.Program) (M, error)) C {
	p, err := m.Build()
	if err != nil {
		panic(err)
	}
	made, err := make(p)
	if err != nil {
		panic(err)
	}
	return made.Config(m.Multi, m.Seed)
}
