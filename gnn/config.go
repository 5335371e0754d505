package gnn

import (
	"errors"
	"fmt"
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
	Kind             Kind
	Custom           *Custom    // in place of Kind and of all that follows but In, Out, Multi and Seed, which Custom.Config sets; nil: Kind says the model
	Layers           int        // number of convolutions; SGC and APPNP: of propagations; ≥ 1
	Hidden           int        // total width of every hidden layer (all heads together), ≥ 1; unused by SGC and, but for APPNP, GCNII and with Jumping, with one layer
	In               int        // input features per vertex
	Out              int        // classes or labels
	Heads            int        // GAT and GATv2 only: heads per layer; Hidden must be a multiple of it
	Alpha            float64    // APPNP and GCNII: share of H⁰ in what a layer sums, [0, 1]
	Theta            float64    // GCNII only: layer ℓ = 1, 2, … has the share log(θ/ℓ + 1) of its weight, ≥ 0
	NoNorm           bool       // activation and dropout come straight behind a convolution, without LayerNorm; SGC, APPNP and GCNII never have it
	BatchNorm        bool       // a norm by columns of all vertices in place of each LayerNorm
	Residual         bool       // layers that read and make hidden rows, at least one, add what they read to what they make: GCN, GraphSAGE, GIN, GAT and GATv2
	Jumping          bool       // jumping knowledge: all convolutions have Hidden outputs, and a Linear makes the logits of those of all layers side by side; not of SGC, APPNP and GCNII
	Activation       Activation // in place of the ReLU between layers and in dense products; "" = ReLU; SGC has none
	Dropout          float64    // probability of dropping, [0, 1); SGC drops nothing
	DropFeatures     bool       // features are dropped, too, as in APPNP and GCNII always; not of SGC
	AttentionDropout float64    // GAT and GATv2 only: probability of dropping a weight of attention, [0, 1)
	Multi            bool       // multi-label: BCE with logits and micro-F1 in place of cross-entropy and accuracy
	Seed             uint64     // initial weights and dropout
}

// Validate reports everything that is wrong with c. Lines begin with the setting, as flags name it.
func (c Config) Validate() error {
	if c.Custom != nil {
		return c.fits()
	}
	_, err := c.build()
	return err
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
