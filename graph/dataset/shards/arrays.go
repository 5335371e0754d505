package shards

import (
	"errors"

	"capgnn/graph"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
)

// reader reads arrays of a folder and keeps the first error.
type reader struct {
	src fields.Folder
	err error
}

// any opens KEY.npy, nil after an error.
func (r *reader) any(key string) (a *npy.Array) {
	if r.err == nil {
		a, r.err = r.src.Array(key)
	}
	return a
}

// array opens KEY.npy of n elements, −1 for any number; nil after an error.
func (r *reader) array(key string, n int) *npy.Array {
	if r.err != nil {
		return nil
	}
	a, err := fields.Vector(r.src, key, n)
	if r.err = err; err != nil {
		return nil
	}
	return a
}

func (r *reader) int32s(key string, n int) (out []int32) {
	if a := r.array(key, n); a != nil {
		out, r.err = a.Int32()
	}
	return out
}

func (r *reader) bytes(key string, n int) (out []uint8) {
	if a := r.array(key, n); a != nil {
		out, r.err = a.Uint8()
	}
	return out
}

// weightTables are the arrays of graph.WeightSums.
var weightTables = []string{"in_weight", "out_weight", "in_weighs", "out_weighs", "loop_weight"}

// sums reads what the edges of n vertices weigh, whose loops are given.
func (r *reader) sums(n int, loops []bool) *graph.WeightSums {
	s := &graph.WeightSums{Loops: loops}
	for k, to := range []*[]float64{&s.In, &s.Out} {
		if a := r.array(weightTables[k], n); a != nil {
			*to, r.err = a.Float64()
		}
	}
	for k, to := range []*[]bool{&s.InAny, &s.OutAny} {
		if a := r.array(weightTables[2+k], n); a != nil {
			*to, r.err = a.Bool()
		}
	}
	if a := r.array(weightTables[4], n); a != nil {
		s.Loop, r.err = a.Float32()
	}
	return s
}

// fringes reads the halo vertices of all parts in one direction.
func (r *reader) fringes(key string, parts int, hops bool) []graph.Fringe {
	at := r.array(key+"_halo_at", parts+1)
	if at == nil {
		return nil
	}
	ends, err := at.Int64()
	if r.err = err; err != nil {
		return nil
	}
	ids := r.int32s(key+"_halo", -1)
	edges := r.int32s(key+"_halo_edges", len(ids))
	var of []uint8
	if hops {
		of = r.bytes(key+"_halo_hops", len(ids))
	}
	if r.err != nil {
		return nil
	}
	out := make([]graph.Fringe, parts)
	for p := range out {
		lo, hi := ends[p], ends[p+1]
		if p == 0 && lo != 0 || hi < lo || hi > int64(len(ids)) || p == parts-1 && hi != int64(len(ids)) {
			r.err = at.Fault(p+1, errors.New("pointers to halo vertices do not ascend to their number"))
			return nil
		}
		out[p] = graph.Fringe{IDs: ids[lo:hi], Edges: edges[lo:hi]}
		if hops {
			out[p].Hops = of[lo:hi]
		}
	}
	return out
}
