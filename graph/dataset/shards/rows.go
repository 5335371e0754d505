package shards

import (
	"slices"

	"capgnn/graph"
)

// outWeightsKey is the array with the weights of the reverse of each edge, where the graph is symmetric: in the order of its indices.
const outWeightsKey = "out_weights"

// rows writes rows of own vertices as a graph that has, behind them, the vertices of other machines that they list, without rows. It returns these.
func (w *writer) rows(f *filer, prefix string, own []graph.NodeID, m int, g *graph.Rows) (others []graph.NodeID) {
	indptr := make([]int64, 1, len(own)+1)
	for _, v := range own {
		_, list := row(g, v)
		for _, u := range list {
			if w.machines[w.Part[u]] != m && w.other[u] == 0 {
				w.other[u] = 1
				others = append(others, u)
			}
		}
		indptr = append(indptr, indptr[len(indptr)-1]+int64(len(list)))
	}
	slices.Sort(others)
	wide := make([]int64, 0, len(own)+len(others))
	for _, v := range own {
		wide = append(wide, int64(v))
	}
	for k, u := range others {
		w.other[u] = int32(len(own)+k) + 1
		wide, indptr = append(wide, int64(u)), append(indptr, indptr[len(indptr)-1])
	}
	f.array(prefix+"indptr", nil, indptr)
	edges := []int{int(indptr[len(indptr)-1])}
	eachEdge(w, f, prefix+"indices", edges, own, m, g, func(_, at graph.NodeID, _ int64) graph.NodeID { return at })
	if g.Weights != nil {
		eachEdge(w, f, prefix+"weights", edges, own, m, g, func(_, _ graph.NodeID, e int64) float32 { return g.Weights[e] })
		if w.symmetric {
			eachEdge(w, f, prefix+outWeightsKey, edges, own, m, g, func(v, _ graph.NodeID, e int64) float32 { return g.Weight(v, g.Indices[e]) })
		}
	}
	f.array(prefix+"ids", nil, wide)
	for _, u := range others {
		w.other[u] = 0
	}
	return others
}

// row returns where the row of a vertex begins in the arrays of g, and its columns.
func row(g *graph.Rows, v graph.NodeID) (begin int64, list []graph.NodeID) {
	if g.At != nil {
		v = g.At[v]
	}
	return g.Indptr[v], g.Row(int(v))
}

// eachEdge writes KEY.npy with what is to be said of each edge of rows of own vertices, in the order of the shard: of entry e of g, in the row of v, whose column there is at.
func eachEdge[T graph.NodeID | float32](w *writer, f *filer, key string, shape []int, own []graph.NodeID, m int, g *graph.Rows, of func(v, at graph.NodeID, e int64) T) {
	f.pieces(key, shape, func(put func(any) error) error {
		var order []uint64 // column in the shard, and place in the row
		buf := []T{}
		err := put(buf)
		for _, v := range own {
			order, buf = order[:0], buf[:0]
			begin, list := row(g, v)
			for k, u := range list {
				at := w.other[u] - 1
				if w.machines[w.Part[u]] == m {
					at = w.place[u]
				}
				order = append(order, uint64(at)<<32|uint64(k))
			}
			slices.Sort(order)
			for _, x := range order {
				buf = append(buf, of(v, graph.NodeID(x>>32), begin+int64(uint32(x))))
			}
			if err == nil {
				err = put(buf)
			}
		}
		return err
	})
}
