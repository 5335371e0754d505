package layered

import (
	"cmp"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
)

// needed says which rows each layer has to compute.
type needed struct {
	level []graph.Level // by vertex: the last layer that computes its row, -1: none does. nil: all compute all
	count []int         // by layer: rows of all parts
	edges []int64       // and their in-neighbours
}

// neededOf returns the rows that those that are wanted need: the last layer computes these, each other one what the layer above it reads.
func neededOf(p *learn.Problem, o *Options) *needed {
	x := &needed{count: make([]int, o.Model.Layers), edges: make([]int64, o.Model.Layers)}
	if o.Rows == nil {
		for l := range x.count {
			x.count[l], x.edges[l] = p.Vertices(), p.Graph.Edges()
		}
		return x
	}
	x.level = graph.Needed(p.Graph, o.Rows, o.Model.Layers-1, nil)
	for v, level := range x.level {
		for l := range int(level) + 1 {
			x.count[l]++
			x.edges[l] += int64(len(p.Graph.Row(v)))
		}
	}
	return x
}

// of returns how many rows a layer computes, and of how many in-neighbours.
func (x *needed) of(l int) (rows, edges float64) { return float64(x.count[l]), float64(x.edges[l]) }

// has reports whether a layer computes the row of a vertex.
func (x *needed) has(l int, v graph.NodeID) bool { return x.level == nil || int(x.level[v]) >= l }

// compare orders vertices by how many layers compute their rows.
func (x *needed) compare(u, v graph.NodeID) int {
	if x.level == nil {
		return 0
	}
	return cmp.Compare(x.level[u], x.level[v])
}

// rows returns the vertices of a part that each task computes. Lists of as many are one.
func (x *needed) rows(tasks []task, inner []graph.NodeID) [][]graph.NodeID {
	out, last := make([][]graph.NodeID, len(tasks)), inner
	for i := range tasks {
		n := 0
		for _, v := range last { // of each layer those of the one below it
			if x.has(tasks[i].layer, v) {
				n++
			}
		}
		if n < len(last) {
			list := make([]graph.NodeID, 0, n)
			for _, v := range last {
				if x.has(tasks[i].layer, v) {
					list = append(list, v)
				}
			}
			last = list
		}
		out[i] = last
	}
	return out
}

// bytes is what the lists of a part take of the heap, and what is known of vertices.
func (d *partition) bytes() gpu.Bytes {
	n, last := len(d.inner), len(d.inner)
	for _, list := range d.rows {
		if len(list) < last {
			n, last = n+len(list), len(list)
		}
	}
	return 4 * gpu.Bytes(n)
}
