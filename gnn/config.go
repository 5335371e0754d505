package gnn

import (
	"errors"
	"fmt"
)

// Config is a model that is trained, and what is not in its program.
type Config struct {
	*Model
	Multi bool   // multi-label: BCE with logits and micro-F1 in place of cross-entropy and accuracy
	Seed  uint64 // initial weights and dropout
}

// Validate reports whether there is a model.
func (c Config) Validate() error {
	if c.Model == nil {
		return errors.New("there is no model: NewModel makes one of a program")
	}
	return nil
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
