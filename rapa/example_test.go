package rapa_test

import (
	"context"
	"fmt"

	"capgnn/graph"
	"capgnn/rapa"
)

// Two triangles that one edge joins are cut there.
func ExamplePartition() {
	g, err := graph.FromEdges(6, []graph.Edge{
		{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 0}, {From: 3, To: 4},
		{From: 4, To: 5}, {From: 5, To: 3}, {From: 2, To: 3},
	})
	if err != nil {
		panic(err)
	}
	plan, err := rapa.Partition(context.Background(), g, make([]bool, 6), rapa.Options{Parts: 2, Seed: 1}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Part[0] == plan.Part[2], plan.Part[2] == plan.Part[3], "cut", plan.EdgeCut)
	// Output: true false cut 1
}
