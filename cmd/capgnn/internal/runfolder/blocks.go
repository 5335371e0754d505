package runfolder

import (
	"slices"

	"capgnn/gnn"
)

// normOption says what lies between a convolution and its ReLU.
const normOption = "norm"

// What --norm may be, and its help.
const (
	normLayer = "layer"
	normNone  = "none"
	normUsage = "`NORM` between layers: layer (LayerNorm) or none (default: layer; sgc, appnp and gcnii have none)"
)

// checkBlocks looks at what stands between layers.
func (c *Config) checkBlocks(p *problems) {
	model := gnn.Kind(c.Model)
	if c.Norm != "" && p.oneOf(normOption, c.Norm, normLayer, normNone) && c.Norm == normLayer && slices.Contains(Models, model) && !model.Norms() {
		p.add("--norm layer: --model %s has no LayerNorm between its layers: drop it, or train gcn, sage, gin, gat or gatv2", c.Model)
	}
}
