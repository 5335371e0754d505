package prediction

import (
	"fmt"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/gnn"
	"capgnn/model"
)

// modelOf returns the network of a run; its input and output widths are those of the weights.
func modelOf(cfg *runfolder.Config, tensors gnn.StateDict) (gnn.Config, error) {
	m := cfg.Network(1, 1, false)
	if m.Custom != nil && m.Kind == "" { // a file says its widths
		m = m.Custom.Config(false, cfg.Seed)
		return m, gnn.CheckStateDict(m, tensors)
	}
	if err := m.Validate(); err != nil {
		return m, err
	}
	var widths [2]int
	for i, other := range []gnn.Config{cfg.Network(2, 1, false), cfg.Network(1, 2, false)} {
		name, dim := differs(m.Program(), other.Program())
		t := tensors[name]
		if t == nil || len(t.Shape) <= dim {
			return m, fmt.Errorf("%s is not there, or has other dimensions: these are not weights of a %s with %d layers, as the run has it", name, m.Kind, cfg.Layers)
		}
		widths[i] = t.Shape[dim]
	}
	m = cfg.Network(widths[0], widths[1], false)
	if err := m.Validate(); err != nil {
		return m, err
	}
	return m, gnn.CheckStateDict(m, tensors)
}

// differs returns a tensor, and which of its dimensions is larger by 1 in the second program.
func differs(a, b *model.Program) (name string, dim int) {
	for i, t := range a.Params() {
		for dim, n := range b.Params()[i].Shape {
			if n == t.Shape[dim]+1 {
				return t.Name, dim
			}
		}
	}
	panic("prediction: no tensor has the width of the features, or of the logits")
}
