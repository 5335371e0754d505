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
	normUsage = "`NORM` between layers: layer (LayerNorm) or none (default: layer; sgc, appnp and gcnii have none)"
)

// residualOption has layers add what they read, with its help.
const (
	residualOption = "residual"
	residualUsage  = "every layer but the first and the last adds its input to its output; with --jk cat the last one does, too (gcn, sage, gin, gat and gatv2 of --layers 3 or more, with --jk cat of 2 or more)"
)

// activationOption says what lies behind LayerNorm, or behind a convolution without.
const activationOption = "activation"

// activationReLU is what --activation is by default.
const activationReLU = string(gnn.ReLU)

const activationUsage = "`FUNCTION` behind hidden convolutions and in the dense products of gin, appnp and gcnii: relu, leaky_relu (slope 0.01), elu or tanh (default: relu; sgc, which has none, refuses it)"

// checkBlocks looks at what stands between layers.
func (c *Config) checkBlocks(p *problems) {
	model := gnn.Kind(c.Model)
	if c.Norm != "" && p.oneOf(normOption, c.Norm, normLayer, normNone) && c.Norm == normLayer && slices.Contains(Models, model) && !model.Norms() {
		p.add("--norm layer: --model %s has no LayerNorm between its layers: drop it, or train gcn, sage, gin, gat or gatv2", c.Model)
	}
	switch {
	case !c.Residual || !slices.Contains(Models, model):
	case !model.CanAdd():
		p.add("--residual: --model %s has no layers that add what they read: drop it, or train gcn, sage, gin, gat or gatv2", c.Model)
	case c.JK == jkCat && c.Layers < 2:
		p.add("--residual: with --layers %d no layer reads and makes hidden rows: drop it, or give --layers 2 or more", c.Layers)
	case c.JK != jkCat && c.Layers < 3:
		p.add("--residual: with --layers %d no layer reads and makes hidden rows: drop it, or give --layers 3 or more", c.Layers)
	}
	if c.Activation != "" && p.oneOf(activationOption, c.Activation, Names(gnn.Activations)...) && model == gnn.SGC {
		p.add("--activation %s: --model sgc has no activation: drop it, or train another model", c.Activation)
	}
}
