package prediction

import (
	"fmt"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/gnn"
)

// modelOf returns the network of a run; its input and output widths are those of the weights.
func modelOf(cfg *runfolder.Config, tensors gnn.StateDict) (gnn.Config, error) {
	m := cfg.Network(0, 0, false)
	if m.Custom != nil {
		m = m.Custom.Config(false, cfg.Seed)
		return m, gnn.CheckStateDict(m, tensors)
	}
	weight, bias := "convs.0.lin.weight", fmt.Sprintf("convs.%d.bias", m.Layers-1)
	switch m.Kind {
	case gnn.SAGE:
		weight, bias = "convs.0.lin_l.weight", fmt.Sprintf("convs.%d.lin_l.bias", m.Layers-1)
	case gnn.GATv2:
		weight = "convs.0.lin_l.weight"
	case gnn.GIN:
		weight, bias = "convs.0.nn.lins.0.weight", fmt.Sprintf("convs.%d.nn.lins.1.bias", m.Layers-1)
	case gnn.SGC:
		weight, bias = "lin.weight", "lin.bias"
	case gnn.APPNP:
		weight, bias = "lin1.weight", "lin2.bias"
	case gnn.GCNII:
		weight, bias = "lins.0.weight", "lins.1.bias"
	}
	if m.Jumping {
		bias = "lin.bias"
	}
	w, b := tensors[weight], tensors[bias]
	if w == nil || b == nil || len(w.Shape) != 2 || len(b.Shape) != 1 {
		return m, fmt.Errorf("no matrix %s and vector %s: these are not weights of a %s with %d layers, as the run has it", weight, bias, m.Kind, m.Layers)
	}
	m.In, m.Out = w.Shape[1], b.Shape[0]
	if err := m.Validate(); err != nil {
		return m, err
	}
	elements := int64(0)
	for _, t := range tensors {
		elements += int64(len(t.Data))
	}
	// Nothing is allocated by the config's widths alone. What padding adds is far below 1024 elements per tensor.
	if need := gnn.FlatLen(m); need > elements+1024*int64(len(tensors)) {
		return m, fmt.Errorf("%d elements, the run's model has %d", elements, need)
	}
	return m, nil
}
