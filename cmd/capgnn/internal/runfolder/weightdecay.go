package runfolder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"capgnn/gnn"
)

// weightDecayOption is the weight decay of the optimiser.
const (
	weightDecayOption = "weight-decay"
	weightDecayUsage  = "weight `DECAY`: a number for all weights, or a list such as 0.01,lins=5e-4, in which NAME=DECAY is for weights whose state_dict name has the part NAME (convs, convs.0, bias). Weights that no NAME fits have the first number, else 0; of several that fit, the last holds"
)

// WeightDecay is the weight decay of all weights, and those of groups of them.
type WeightDecay struct {
	All    float64
	Groups []gnn.NamedDecay
}

// parseWeightDecay reads a number, NAME=DECAY, or several of them with the number first, separated by commas.
func parseWeightDecay(text string) (w WeightDecay, err error) {
	for i, item := range strings.Split(text, ",") {
		name, value, named := strings.Cut(strings.TrimSpace(item), "=")
		if !named {
			name, value = "", name
		}
		name = strings.TrimSpace(name)
		decay, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		switch {
		case err != nil && !named:
			return w, fmt.Errorf("%q is neither a number nor NAME=DECAY, such as lins=5e-4", item)
		case err != nil:
			return w, fmt.Errorf("%q: %q is not a number", item, value)
		case !named && i == 0:
			w.All = decay
			continue
		case !named:
			return w, fmt.Errorf("%q: the number for all weights comes first", text)
		case name == "" || strings.Trim(name, ".") != name:
			return w, fmt.Errorf("%q: %q is not a part of a name, such as lins or convs.0", item, name)
		case slices.ContainsFunc(w.Groups, func(d gnn.NamedDecay) bool { return d.Of == name }):
			return w, fmt.Errorf("%q: %s is there twice", text, name)
		}
		w.Groups = append(w.Groups, gnn.NamedDecay{Of: name, Decay: decay})
	}
	return w, nil
}

// value is a number, or a text where there are groups.
func (w WeightDecay) value() any {
	if w.Groups != nil {
		return w.String()
	}
	return w.All
}

// String returns what parseWeightDecay reads.
func (w WeightDecay) String() string {
	out := strconv.FormatFloat(w.All, 'g', -1, 64)
	for _, d := range w.Groups {
		out += fmt.Sprintf(",%s=%s", d.Of, strconv.FormatFloat(d.Decay, 'g', -1, 64))
	}
	return out
}

// UpdateRule returns the update rule for the weights of a model. Settings are valid, and the model is theirs.
func (c *Config) UpdateRule(model gnn.Config) gnn.Optimizer {
	o := c.updateRule()
	if c.WeightDecay.Groups == nil {
		return o
	}
	var err error
	if o.Decays, err = model.DecayRanges(o.WeightDecay, c.WeightDecay.Groups); err != nil {
		panic("capgnn: " + err.Error()) // Validate looked at names
	}
	return o
}

// updateRule is UpdateRule without groups of weights.
func (c *Config) updateRule() gnn.Optimizer {
	return gnn.Optimizer{Kind: gnn.OptimizerKind(c.Optimizer), LR: c.LR, WeightDecay: c.WeightDecay.All, AMSGrad: c.AMSGrad, Clip: c.ClipNorm}
}

// checkWeightDecay looks at groups of a model's weights; its configuration is valid.
func (c *Config) checkWeightDecay(p *problems, model gnn.Config) {
	for _, d := range c.WeightDecay.Groups {
		if !(d.Decay >= 0) || d.Decay > 1e6 {
			p.add("--%s %s=%g is not in [0, 1e6]", weightDecayOption, d.Of, d.Decay)
		}
	}
	if _, err := model.DecayRanges(0, c.WeightDecay.Groups); err != nil {
		for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
			p.add("--%s: %w", weightDecayOption, err)
		}
	}
}
