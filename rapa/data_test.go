package rapa

import (
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/published"
)

// physics reads Coauthor Physics, symmetrised and without loops.
func physics(t testing.TB) *graph.CSR {
	d, err := formats.Load(published.Path(t, "coauthor_physics"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d.Graph.WithoutLoops()
}
