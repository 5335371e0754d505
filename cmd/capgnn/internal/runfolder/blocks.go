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
	residualUsage  = "layers that read and make hidden rows, all but the first and the last (with --jk cat but the first), add what they read to what they make (gcn, sage, gin, gat, gatv2)"
)

// activationOption says what lies behind LayerNorm, or behind a convolution without.
const activationOption = "activation"

// activationReLU is what --activation is by default.
const activationReLU = string(gnn.ReLU)

const activationUsage = "`FUNCTION` behind hidden convolutions and in the dense products of gin, appnp and gcnii: relu, leaky_relu (slope 0.01), elu or tanh (default: relu; sgc has none)"

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
	case c.Layers < 2 || c.Layers < 3 && c.JK != jkCat:
		p.add("--residual: with --layers %d no layer reads and makes hidden rows: drop it, or give --layers 3 or more", c.Layers)
	}
	if c.Activation != "" && p.oneOf(activationOption, c.Activation, Names(gnn.Activations)...) && model == gnn.SGC {
		p.add("--activation %s: --model sgc has no activation: drop it, or train another model", c.Activation)
	}
}
