package minibatch

import (
	"capgnn/graph"
	"capgnn/internal/learn"
)

// table is where dense rows of vertices come from: memory that has the rows of all of them, or features that are stored otherwise.
type table struct {
	cols  int
	data  []float32      // vertices × cols, or rows × cols
	place []int32        // by vertex: its row of data; nil: its number
	of    *learn.Problem // in place of data: its features, which are sparse or lie in shards
}

func (t *table) row(dst []float32, v graph.NodeID) {
	if t.of != nil {
		t.of.FillFeatures(dst[:t.cols], v)
		return
	}
	if t.place != nil {
		v = t.place[v]
	}
	copy(dst, t.data[int(v)*t.cols:][:t.cols])
}
