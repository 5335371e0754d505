package minibatch

import (
	"capgnn/graph"
	"capgnn/internal/learn"
)

// table is where dense rows of vertices come from: memory that has the rows of all of them, or features that are stored otherwise.
type table struct {
	cols int
	data []float32       // vertices × cols
	of   *learn.Features // in place of data: sparse, made dense
}

// gather writes the rows of vertices to dst.
func (t *table) gather(dst []float32, ids []graph.NodeID) {
	n := t.cols
	if t.of != nil {
		for i, v := range ids {
			t.of.Fill(dst[i*n:][:n], v)
		}
		return
	}
	for i, v := range ids {
		copy(dst[i*n:][:n], t.data[int(v)*n:])
	}
}
