package layered

import (
	"capgnn/graph"
	"capgnn/internal/learn"
)

// sparseRows is sparse features of some vertices.
type sparseRows struct {
	begin   []int64
	indices []int32
	data    []float32
}

// gather takes the rows of ids. Slices are used again.
func (r *sparseRows) gather(p *learn.Problem, ids []graph.NodeID) {
	f := &p.Features
	r.begin = resized(r.begin, len(ids)+1)
	r.begin[0] = 0
	for i, v := range ids {
		r.begin[i+1] = r.begin[i] + f.Indptr[v+1] - f.Indptr[v]
	}
	n := int(r.begin[len(ids)])
	r.indices, r.data = resized(r.indices, n), resized(r.data, n)
	graph.EachBlock(len(ids), blockRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p.CopySparse(r.indices[r.begin[i]:], r.data[r.begin[i]:], ids[i])
		}
	})
}
