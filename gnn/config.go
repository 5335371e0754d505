package gnn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is a model family.
type Kind string

// The models (docs/mathematics.md).
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

// Kinds lists all models in the order in which tables show them.
var Kinds = []Kind{GCN, SAGE, GIN, GAT, GATv2, SGC, APPNP, GCNII}

// Config describes a model.
type Config struct {
	Kind         Kind
	Custom       *Custom    // in place of Kind and of all that follows but In, Out, Multi and Seed, which Custom.Config sets; nil: Kind says the model
	Layers       int        // number of convolutions; SGC and APPNP: of propagations; ≥ 1
	Hidden       int        // total width of every hidden layer (all heads together), ≥ 1; unused by SGC and, but for APPNP, GCNII and with Jumping, with one layer
	In           int        // input features per vertex
	Out          int        // classes or labels
	Heads        int        // GAT and GATv2 only: heads per layer; Hidden must be a multiple of it
	Alpha        float64    // APPNP and GCNII: share of H⁰ in what a layer sums, [0, 1]
	Theta        float64    // GCNII only: layer ℓ = 1, 2, … has the share log(θ/ℓ + 1) of its weight, ≥ 0
	NoNorm       bool       // activation and dropout come straight behind a convolution, without LayerNorm; SGC, APPNP and GCNII never have it
	Residual     bool       // layers that read and make hidden rows, at least one, add what they read to what they make: GCN, GraphSAGE, GIN, GAT and GATv2
	Jumping      bool       // jumping knowledge: all convolutions have Hidden outputs, and a Linear makes the logits of those of all layers side by side; not of SGC, APPNP and GCNII
	Activation   Activation // in place of the ReLU between layers and in dense products; "" = ReLU; SGC has none
	Dropout      float64    // probability of dropping, [0, 1); SGC drops nothing
	DropFeatures bool       // features are dropped, too, as in APPNP and GCNII always; not of SGC
	Multi        bool       // multi-label: BCE with logits and micro-F1 in place of cross-entropy and accuracy
	Seed         uint64     // initial weights and dropout
}

// Validate reports everything that is wrong with c. Lines begin with the setting, as flags name it.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if c.Custom != nil {
		return c.fits()
	}
	if !slices.Contains(Kinds, c.Kind) {
		bad("model %q is not one of %s", c.Kind, joined(Kinds))
	}
	if c.Layers < 1 || c.Layers > 64 {
		bad("layers %d is not in [1, 64]", c.Layers)
	}
	if c.hides() && (c.Hidden < 1 || c.Hidden > 1<<20) {
		bad("hidden %d is not in [1, 1048576]", c.Hidden)
	}
	if c.In < 1 {
		bad("input width %d is below 1", c.In)
	}
	if c.Out < 1 {
		bad("number of classes %d is below 1", c.Out)
	}
	if c.Jumping && !c.Kind.Norms() {
		bad("model %s has no jumping knowledge", c.Kind)
	}
	if c.Kind.Attends() {
		if c.Heads < 1 {
			bad("heads %d is below 1", c.Heads)
		} else if c.hides() && c.Hidden%c.Heads != 0 {
			bad("hidden %d is not a multiple of heads %d", c.Hidden, c.Heads)
		}
	}
	if c.Kind.KeepsOrigin() && !(c.Alpha >= 0 && c.Alpha <= 1) {
		bad("teleport %g is not in [0, 1]", c.Alpha)
	}
	if c.Kind == GCNII && !(c.Theta >= 0 && c.Theta <= 1e6) {
		bad("theta %g is not in [0, 1e6]", c.Theta)
	}
	if c.Residual && slices.Contains(Kinds, c.Kind) && !c.Kind.Norms() {
		bad("residuals: model %s has none", c.Kind)
	} else if c.Residual && c.HiddenLayers() < 2 {
		bad("residuals: of %d layers none reads and makes hidden rows", c.Layers)
	}
	if c.Activation != "" && !slices.Contains(Activations, c.Activation) {
		bad("activation %q is not one of %s", c.Activation, joined(Activations))
	}
	if c.DropFeatures && c.Kind == SGC {
		bad("model %s drops nothing, so no features", c.Kind)
	}
	if !(c.Dropout >= 0 && c.Dropout < 1) {
		bad("dropout %g is not in [0, 1)", c.Dropout)
	}
	if errs == nil {
		if _, err := c.program(); err != nil {
			bad("model %s: %w", c.Kind, err)
		}
	}
	return errors.Join(errs...)
}

// fits reports whether a program has the columns of the data.
func (c Config) fits() error {
	var errs []error
	if p := c.Custom.Program; c.In != p.Features {
		errs = append(errs, fmt.Errorf("model reads %d features, and the data set has %d", p.Features, c.In))
	}
	if p := c.Custom.Program; c.Out != p.Outputs {
		errs = append(errs, fmt.Errorf("model has %d outputs, and the data set %d classes", p.Outputs, c.Out))
	}
	return errors.Join(errs...)
}

// joined lists names in a line.
func joined[T ~string](list []T) string {
	var names []string
	for _, k := range list {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// Width returns the width of the rows that a layer reads and of those that it makes, 0 ≤ layer < Layers.
func (c Config) Width(layer int) (in, out int) {
	if c.Custom != nil {
		return c.Custom.layers[layer].in, c.Custom.layers[layer].out
	}
	in, out = c.Hidden, c.Hidden
	if c.Kind == SGC || c.Kind == APPNP { // what is propagated is as wide as the logits
		in, out = c.Out, c.Out
	}
	if layer == 0 {
		in = c.In
	}
	if layer == c.HiddenLayers() {
		out = c.Out
	}
	return in, out
}

// OptimizerKind is an update rule.
type OptimizerKind string

// The update rules.
const (
	Adam  OptimizerKind = "adam"  // weight decay as L2 (torch.optim.Adam)
	AdamW OptimizerKind = "adamw" // weight decay decoupled
	SGD   OptimizerKind = "sgd"
)

// Optimizer is an update rule with its settings. Betas are 0.9 and 0.999, eps 1e-8.
type Optimizer struct {
	Kind        OptimizerKind
	LR          float64 // > 0
	WeightDecay float64 // ≥ 0
	// Decays is the weight decay of each element of Weights.Flat in place of WeightDecay (Config.DecayRanges); nil: all have that.
	Decays  []DecayRange
	AMSGrad bool    // Adam and AdamW only
	Clip    float64 // largest norm of the whole gradient, which is scaled down to it; 0: any
}

// Validate reports everything that is wrong with o. Lines begin with the setting, as flags name it.
func (o Optimizer) Validate() error {
	var errs []error
	switch o.Kind {
	case Adam, AdamW, SGD:
	default:
		errs = append(errs, fmt.Errorf("optimizer %q is not one of adam, adamw, sgd", o.Kind))
	}
	if !(o.LR > 0) || o.LR > 1e6 {
		errs = append(errs, fmt.Errorf("lr %g is not in (0, 1e6]", o.LR))
	}
	if !(o.WeightDecay >= 0) || o.WeightDecay > 1e6 {
		errs = append(errs, fmt.Errorf("weight-decay %g is not in [0, 1e6]", o.WeightDecay))
	}
	for _, d := range o.Decays {
		if !(d.Decay >= 0) || d.Decay > 1e6 {
			errs = append(errs, fmt.Errorf("weight-decay %g of a group of weights is not in [0, 1e6]", d.Decay))
		}
	}
	if !(o.Clip >= 0) || o.Clip > 1e30 {
		errs = append(errs, fmt.Errorf("clip-norm %g is not in [0, 1e30]", o.Clip))
	}
	if o.AMSGrad && o.Kind == SGD {
		errs = append(errs, errors.New("optimizer sgd has no amsgrad, adam and adamw have"))
	}
	return errors.Join(errs...)
}
