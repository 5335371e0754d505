package graph_test

import (
	"fmt"

	"capgnn/graph"
)

// Rows list in-neighbours; repeated edges are merged.
func ExampleFromEdges() {
	g, err := graph.FromEdges(3, []graph.Edge{{From: 0, To: 1}, {From: 2, To: 1}, {From: 0, To: 1}})
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Edges(), g.Row(1), g.Symmetrise().Row(0))
	// Output: 2 [0 2] [1]
}
