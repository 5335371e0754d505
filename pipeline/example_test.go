package pipeline_test

import (
	"context"
	"fmt"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/model"
	"capgnn/pipeline"
)

// A GCN learns on two devices which of two rings a vertex is in.
func ExampleNew() {
	const n = 20
	var edges []graph.Edge
	labels, part, rows, all := make([]int32, n), make([]int32, n), make([]float32, 2*n), make([]bool, n)
	for v := range n {
		ring := v % 2
		edges = append(edges, graph.Edge{From: int32(v), To: int32((v + 2) % n)})
		labels[v], part[v], rows[2*v+ring], all[v] = int32(ring), int32(v/(n/2)), 1, true
	}
	g, err := graph.FromEdges(n, edges)
	check(err)
	problem := &pipeline.Problem{Graph: g.Symmetrise(), Loops: graph.LoopsAdded, Features: pipeline.Features{Cols: 2, Dense: rows}, Labels: labels,
		Classes: 2, Train: all, Val: all, Test: all}

	var devices []gpu.Device
	for range 2 {
		dev, err := host.Open(host.Spec{Threads: 1})
		check(err)
		defer dev.Close()
		devices = append(devices, dev)
	}
	program, err := model.GCN(model.Arguments{Layers: 2, Hidden: 8, In: 2, Out: 2})
	check(err)
	gcn, err := gnn.NewModel(program)
	check(err)
	trainer, err := pipeline.New(context.Background(), problem, pipeline.Options{
		Training: pipeline.Training{Model: gcn.Config(false, 1),
			Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.05}, Epochs: 30, EvalEvery: 10},
		Devices: devices, Part: part,
	})
	check(err)
	result, err := trainer.Run(context.Background())
	check(err)
	check(trainer.Close())
	fmt.Println("accuracy", *result.Best.Test)
	// Output: accuracy 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
