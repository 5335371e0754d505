package gnn_test

import (
	"fmt"

	"capgnn/gnn"
	"capgnn/model"
)

// Weights have the names and shapes of a torch_geometric state_dict.
func ExampleNewWeights() {
	program, err := model.SAGE(model.Arguments{Layers: 2, Hidden: 16, In: 100, Out: 7})
	if err != nil {
		panic(err)
	}
	m, err := gnn.NewModel(program)
	if err != nil {
		panic(err)
	}
	w := gnn.NewWeights(m.Config(false, 1))
	w.Init(1)
	for _, t := range w.Tensors {
		fmt.Println(t.Name, t.Shape)
	}
	// Output:
	// convs.0.lin_l.weight [16 100]
	// convs.0.lin_l.bias [16]
	// convs.0.lin_r.weight [16 100]
	// norms.0.weight [16]
	// norms.0.bias [16]
	// convs.1.lin_l.weight [7 16]
	// convs.1.lin_l.bias [7]
	// convs.1.lin_r.weight [7 16]
}
