package runfolder

import (
	"slices"

	"capgnn/gnn"
)

// normOption says what lies between a convolution and its activation.
const normOption = "norm"

// What --norm may be, and its help.
const (
	normLayer = "layer"
	normNone  = "none"
	normUsage = "`NORM` between layers: layer or none (default: layer; sgc, appnp and gcnii have none)"
)

// residualOption has layers add what they read, with its help.
const (
	residualOption = "residual"
	residualUsage  = "every layer but the first and the last adds its input to its output; with --jk cat the last one does, too (gcn, sage, gin, gat and gatv2 of --layers 3 or more, with --jk cat of 2 or more)"
)

// jkOption says what the logits are made of.
const jkOption = "jk"

// What --jk may be, and its help.
const (
	jkNone  = "none"
	jkCat   = "cat"
	jkUsage = "jumping knowledge, `WHAT` logits are made of: none (the last layer alone) or cat (all layers: each has --hidden " +
		"columns, and a Linear reads these side by side; gcn, sage, gin, gat, gatv2)"
)

// activationOption says what lies behind LayerNorm, or behind a convolution without.
const activationOption = "activation"

const activationUsage = "`FUNCTION` behind hidden convolutions and in the dense products of gin, appnp and gcnii: relu, leaky_relu (slope 0.01), elu or tanh (default: relu; sgc, which has none, refuses it)"

// dropFeaturesOption has dropout drop features, with its help.
const (
	dropFeaturesOption = "drop-features"
	dropFeaturesUsage  = "also drop features, with the probability of --dropout, as the papers of gcn and gat do; no sums over features can then be made before the first epoch (gcn, sage, gin, gat and gatv2; appnp and gcnii always drop features)"
)

// checkBlocks looks at what stands between layers, and behind them.
func (c *Config) checkBlocks(p *problems) {
	model := gnn.Kind(c.Model)
	lacks := slices.Contains(Models, model) && !model.Norms()
	if c.Norm == normLayer && lacks {
		p.add("--norm layer: --model %s has no LayerNorm between its layers: drop it, or train gcn, sage, gin, gat or gatv2", c.Model)
	}
	if c.JK == jkCat && lacks {
		p.add("--jk cat: --model %s has no jumping knowledge: drop it, or train gcn, sage, gin, gat or gatv2", c.Model)
	}
	least := 3 // layers, of which one adds
	if c.JK == jkCat {
		least = 2
	}
	switch {
	case c.Residual && lacks:
		p.add("--residual: --model %s has no layers that add what they read: drop it, or train gcn, sage, gin, gat or gatv2", c.Model)
	case c.Residual && c.Layers < least:
		p.add("--residual: with --layers %d no layer reads and makes hidden rows: drop it, or give --layers %d or more", c.Layers, least)
	}
	switch {
	case !c.DropFeatures:
	case lacks && model == gnn.SGC:
		p.add("--drop-features: --model sgc drops nothing: leave the flag out, or train another model")
	case lacks:
		p.add("--drop-features: --model %s always drops features: leave the flag out", c.Model)
	case c.Dropout == 0:
		p.add("--drop-features: nothing is dropped with --dropout 0: leave one of the two out")
	}
	if c.Activation != "" && model == gnn.SGC {
		p.add("--activation %s: --model sgc has no activation: drop it, or train another model", c.Activation)
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

// OptionsOf lists those of ModelOptions that a model takes.
func OptionsOf(k gnn.Kind) []string {
	takes := map[string]bool{"hidden": k != gnn.SGC, "heads": k.Attends(), teleport: k.KeepsOrigin(), "theta": k == gnn.GCNII,
		normOption: k.Norms(), residualOption: k.Norms(), jkOption: k.Norms(), dropFeaturesOption: k.Norms(),
		activationOption: k != gnn.SGC, "dropout": k != gnn.SGC, "layers": true}
	return slices.DeleteFunc(ModelOptions(), func(name string) bool { return !takes[name] })
}
