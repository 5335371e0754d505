package interpreter

import "capgnn/model"

// Rows returns how many rows of vertices' values are computed, of how many that there are.
func (r *Run) Rows() (computed, all int) {
	for i := range r.Program.Nodes {
		if r.node(i).Space != model.Vertices || r.hops[i] < 0 {
			continue
		}
		for k := range r.parts {
			computed += r.parts[k].count[r.hops[i]]
		}
		all += r.Graph.Vertices
	}
	return computed, all
}
