package prediction

import (
	"fmt"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/gnn"
	"capgnn/model"
)

// modelOf returns the network of a run; its input and output widths are those of the weights, or of its program.
func modelOf(cfg *runfolder.Config, tensors gnn.StateDict) (gnn.Config, error) {
	m := cfg.AnyNetwork()
	widths := [2]int{m.In, m.Out}
	for i := range widths {
		if cfg.ModelFile() {
			break // which says its widths
		}
		wider, err := cfg.Network(2-i, 1+i, false)
		if err != nil {
			return m, err
		}
		name, dim := differs(m.Program, wider.Program)
		t := tensors[name]
		if t == nil || len(t.Shape) <= dim {
			return m, fmt.Errorf("%s is not there, or has other dimensions: these are not weights of a %s with %d layers, as the run has it", name, cfg.Model, cfg.Layers)
		}
		widths[i] = t.Shape[dim]
	}
	m, err := cfg.Network(widths[0], widths[1], false)
	if err != nil {
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
