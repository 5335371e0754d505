package reorder

import (
	"cmp"
	"slices"
	"sync/atomic"

	"capgnn/graph"
	"capgnn/graph/internal/parallel"
)

// Degree ranks vertices by descending degree, in and out added up, ties by id.
//
// Returns: the rank of every vertex, a permutation of 0 to n-1 as Split takes it. So do the other orders; all take a square
// graph, directed or not, with or without loops, and are equal on every platform and for any number of threads.
//
// Why: a yardstick for the other orders. Where a vertex is a few bytes, hubs that share cache lines are a gain; a row of
// features fills lines of its own, so only the order in which rows are computed counts, and degrees say nothing about it.
//
// Source: "hub sorting" in Balaji and Lucia, "When is graph reordering an optimization?", IISWC 2018.
func Degree(g *graph.CSR) []int32 {
	degree := g.OutDegree()
	order := make([]graph.NodeID, g.Rows())
	for v := range order {
		order[v] = graph.NodeID(v)
		degree[v] += int32(g.Indptr[v+1] - g.Indptr[v])
	}
	slices.SortFunc(order, func(a, b graph.NodeID) int {
		return cmp.Or(cmp.Compare(degree[b], degree[a]), cmp.Compare(a, b))
	})
	return ranks(order)
}

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
