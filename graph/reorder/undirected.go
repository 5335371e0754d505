package reorder

import (
	"sync/atomic"

	"capgnn/graph"
	"capgnn/graph/internal/parallel"
)

// ranks returns the inverse of an order: the place of every vertex.
func ranks(order []graph.NodeID) []int32 {
	rank := make([]int32, len(order))
	for i, v := range order {
		rank[v] = int32(i)
	}
	return rank
}

// undirected returns g if it is symmetric, else its union with its transpose.
//
// Method: each edge adds a hash of its pair of ends, u → v with u < v positively, else negatively; a symmetric graph sums to
// 0 modulo 2⁶⁴, another one with a chance of 2⁻⁶⁴, and would then be ordered by its in-neighbours alone.
// Why: one pass over the edges in memory order, a tenth of the time that transposing and comparing takes.
func undirected(c *parallel.Pool, g *graph.CSR) (*graph.CSR, error) {
	const rows = 1 << 12
	var sum atomic.Uint64
	n := g.Rows()
	err := c.Each("symmetry", parallel.Blocks(n, rows), func(block int) {
		s := uint64(0)
		for v := block * rows; v < min(n, (block+1)*rows); v++ {
			for _, u := range g.Row(v) {
				if int(u) < v {
					s += mix(uint64(u)<<32 | uint64(v))
				} else if int(u) > v {
					s -= mix(uint64(v)<<32 | uint64(u))
				}
			}
		}
		sum.Add(s)
	})
	if err != nil || sum.Load() == 0 {
		return g, err
	}
	return g.Symmetrise(), c.Err()
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014): a bijection whose bits look independent of x's.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
