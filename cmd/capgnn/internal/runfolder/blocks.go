package runfolder

import (
	"cmp"
	"fmt"
	"strings"

	"capgnn/model"
)

// Options of models that other places name.
const (
	normOption         = "norm"
	residualOption     = "residual"
	jkOption           = "jk"
	activationOption   = "activation"
	dropFeaturesOption = "drop-features"
	attentionDropout   = "attention-dropout"
)

// Help of options that some models take.
var (
	normUsage     = "`NORM`: layer, batch, graph or none (default: layer; of " + takers(normOption) + ")"
	residualUsage = "layers that read and make hidden rows add their input to their output: all but the first and the last; with --jk the last, too (" + takers(residualOption) + ")"
	jkUsage       = "jumping knowledge, `WHAT` logits are made of: none (the last layer alone), or all layers, each of --hidden " +
		"columns: cat (side by side), max (the largest by column) or sum, which a Linear reads (" + takers(jkOption) + ")"
	activationUsage   = "`FUNCTION` of hidden rows: relu, leaky_relu (slope 0.01), elu or tanh (default: relu; " + takers(activationOption) + ")"
	dropFeaturesUsage = "also drop features, with the probability of --dropout, as the papers of gcn and gat do; no sums over features can then be made before the first epoch (" + takers(dropFeaturesOption) + "; others with dropout always drop features)"
)

// takers lists the models that take an option.
func takers(option string) string { return strings.Join(model.Names(option), ", ") }

// checkBlocks looks at the options that the model has no use for.
func (c *Config) checkBlocks(p *problems) {
	b, err := model.Named(c.Model)
	if err != nil {
		return
	}
	refuse := func(option string, given bool, said, lacks string) {
		if given && !b.Has(option) {
			p.add("--%s: --model %s %s: drop it, or train %s", said, c.Model, lacks, list(model.Names(option)))
		}
	}
	refuse(normOption, c.Norm != "" && c.Norm != model.NormNone, "norm "+c.Norm, "has no norm between its layers")
	refuse(jkOption, c.JK != model.JKNone, "jk "+c.JK, "has no jumping knowledge")
	refuse(residualOption, c.Residual, "residual", "has no layers that add what they read")
	refuse(activationOption, c.Activation != "", "activation "+c.Activation, "has no activation")
	refuse(attentionDropout, c.AttentionDropout != 0, fmt.Sprintf("%s %g", attentionDropout, c.AttentionDropout), "has no attention")
	if b.Has(attentionDropout) && !(c.AttentionDropout >= 0 && c.AttentionDropout < 1) {
		p.add("--%s %g: is not in [0, 1)", attentionDropout, c.AttentionDropout)
	}
	refuse("dropout", c.DropFeatures, "drop-features", "drops nothing")
	// What the model has no use for is taken, as scripts give all models the same flags; but no value that no model takes.
	wrong := func(option string, is bool, value any, bounds string) {
		if is && !b.Has(option) {
			p.add("--%s %v is not in %s", option, value, bounds)
		}
	}
	wrong("heads", c.Heads < 1, c.Heads, "[1, 1048576]")
	wrong("teleport", !(c.Teleport >= 0 && c.Teleport <= 1), c.Teleport, "[0, 1]")
	wrong("theta", !(c.Theta >= 0 && c.Theta <= 1e6), c.Theta, "[0, 1e6]")
	least := 3 // layers, of which one adds
	if c.JK != model.JKNone || !b.Has(jkOption) {
		least = 2
	}
	switch {
	case c.Residual && b.Has(residualOption) && c.Layers < least:
		p.add("--residual: with --layers %d no layer reads and makes hidden rows: drop it, or give --layers %d or more", c.Layers, least)
	case c.DropFeatures && b.Has("dropout") && !b.Has(dropFeaturesOption):
		p.add("--drop-features: --model %s always drops features: leave the flag out", c.Model)
	case c.DropFeatures && c.Dropout == 0:
		p.add("--drop-features: nothing is dropped with --dropout 0: leave one of the two out")
	}
}

// ofModel reports whether models differ by the option.
func (o Option) ofModel() bool { return o.Group == GroupModel && o.Name != "model" && o.Name != "init" }

// ModelOptions lists the options that models differ by.
func ModelOptions() []string {
	var out []string
	for _, o := range Options {
		if o.ofModel() {
			out = append(out, o.Name)
		}
	}
	return out
}

// unseen reports whether tensors do not show the option, and what they make of rows depends on it.
func (o Option) unseen() bool {
	switch o.Name {
	case "edges", "standardize", ignoreWeights, "self-loops":
		return true
	case "hidden", "dropout", dropFeaturesOption, attentionDropout:
		return false
	}
	return o.ofModel()
}

// Unseen returns what tensors do not show of a model, its graph and its features, by option. Usual values are left out.
func (c *Config) Unseen() map[string]string {
	out, usual := map[string]string{}, Default()
	b, err := model.Named(c.Model)
	for _, o := range Options {
		if !o.unseen() || o.ofModel() && (err != nil || !b.Has(o.Name)) {
			continue
		}
		if value := o.Value(c); value != o.Value(&usual) {
			out[o.Name] = fmt.Sprint(value)
		}
	}
	return out
}

// Differs returns how a config differs from what Unseen returned of another one, "" if it does not: what the other one
// has, and what c has.
func (c *Config) Differs(unseen map[string]string) (was, is string) {
	usual, own := Default(), c.Unseen()
	for _, o := range Options {
		if !o.unseen() || own[o.Name] == unseen[o.Name] {
			continue
		}
		say := func(value string) string {
			switch value = cmp.Or(value, fmt.Sprint(o.Value(&usual))); value {
			case "", "false":
				return "without --" + o.Name
			case "true":
				return "with --" + o.Name
			}
			return "with --" + o.Name + " " + value
		}
		return say(unseen[o.Name]), say(own[o.Name])
	}
	return "", ""
}
