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
	weightDecayUsage  = "weight `DECAY`: a number for all weights, NAME=DECAY for those with NAME between the dots of their state_dict name, or several, such as 0.01,lins=5e-4; the last that fits holds"
	weightDecayWant   = "a number of 0 or more, NAME=DECAY, or several such as 0.01,lins=5e-4 with the number first and each NAME once"
)

// WeightDecay is the weight decay of all weights, and those of groups of them.
type WeightDecay struct {
	All    float64
	Groups []gnn.NamedDecay
}

// parseWeightDecay reads a number, NAME=DECAY, or several of them with the number first, separated by commas.
func parseWeightDecay(text string) (w WeightDecay, err error) {
	for i, item := range strings.Split(text, ",") {
		name, value, named := strings.Cut(item, "=")
		if !named {
			name, value = "", item
		}
		decay, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		name = strings.TrimSpace(name)
		switch {
		case err != nil:
			return WeightDecay{}, err
		case !named && i == 0:
			w.All = decay
			continue
		case !named, name == "", strings.Trim(name, ".") != name, slices.ContainsFunc(w.Groups, func(d gnn.NamedDecay) bool { return d.Of == name }):
			return WeightDecay{}, fmt.Errorf("%q is not NAME=DECAY", item)
		}
		w.Groups = append(w.Groups, gnn.NamedDecay{Of: name, Decay: decay})
	}
	return w, nil
}

// value is a number, which it always was before there were groups, or a text.
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
		p.add("--%s: %w", weightDecayOption, err)
	}
}
