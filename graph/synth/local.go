package synth

import (
	"slices"

	"capgnn/graph"
)

const (
	typeColumns = 4 // the last columns of dense features show the type of their vertex
	typeShift   = 2 // by so many standard deviations
)

// Types draws a bit for each of n vertices, independent of classes and edges.
func Types(n int, seed uint64) []uint8 {
	r := stream(seed, streamTypes, 0)
	out := make([]uint8, n)
	for v := range out {
		out[v] = uint8(r.Uint64() >> 63)
	}
	return out
}

// NeighbourTypes returns for each vertex the mean of its neighbours' types as -1 and +1; 0 without neighbours.
func NeighbourTypes(g *graph.CSR, types []uint8) []float64 {
	out := make([]float64, g.Rows())
	for v := range out {
		sum := 0
		for _, u := range g.Row(v) {
			sum += 2*int(types[u]) - 1
		}
		if d := len(g.Row(v)); d > 0 {
			out[v] = float64(sum) / float64(d)
		}
	}
	return out
}

// UpperQuantile returns the mean type that at most `share` of the vertices exceed.
func UpperQuantile(means []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(means))
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*(1-share)))]
}

// Reassign moves each vertex whose neighbours' mean type exceeds bound to class 0 and returns the new classes.
//
// Why: a class can be read from any few thousand vertices around, so a model that loses edges or reads old rows would still
// know it. That mean is a count over exactly the neighbours of one vertex: each edge that is lost, and each row that is not
// the neighbour's own, moves some vertices over the bound.
func Reassign(class []int32, means []float64, bound float64) []int32 {
	out := slices.Clone(class)
	for v, x := range means {
		if x > bound {
			out[v] = 0
		}
	}
	return out
}
