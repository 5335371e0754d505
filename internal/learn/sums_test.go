package learn

import (
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/model"
)

// Loops that are added to a graph without edges have their weight.
func TestLoopsOfNoEdges(t *testing.T) {
	for _, do := range []string{model.FullLoops, model.Loops} {
		g := &graph.CSR{Indptr: make([]int64, 4), Cols: 3, Weights: []float32{}}
		if got := changed(g, model.Graph{Do: do}, 2).Weights; !slices.Equal(got, []float32{2, 2, 2}) {
			t.Errorf("%s: loops weigh %v, want 2 each", do, got)
		}
	}
}
