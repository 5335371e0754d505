package synth

import (
	"fmt"
	"math/rand/v2"

	"capgnn/graph"
)

// Graph500 quadrant probabilities a = 0.57, b = 0.19, c = 0.19, d = 0.05 as upper bounds of a uniform 32-bit word.
const (
	rmatA uint32 = 57 << 32 / 100
	rmatB uint32 = (57 + 19) << 32 / 100
	rmatC uint32 = (57 + 19 + 19) << 32 / 100
)

// RMAT draws a Kronecker graph with the parameters of Graph500.
//
// Returns: a directed graph of 2^scale vertices with at most edgeFactor·2^scale edges (repeats and loops are dropped).
//
// Method: every edge descends scale levels of the adjacency matrix, choosing a quadrant at each; ids are then permuted.
//
// Why: heavy-tailed degrees without communities: the hard case for partitioners and load balance.
//
// Source: Chakrabarti, Zhan and Faloutsos, "R-MAT", 2004; Graph500 specification.
func RMAT(scale, edgeFactor int, seed uint64) (*graph.CSR, error) {
	if scale < 0 || scale > 30 || edgeFactor < 0 || edgeFactor > 1<<16 {
		return nil, fmt.Errorf("rmat: scale %d is not in [0, 30] or edge factor %d is not in [0, 65536]", scale, edgeFactor)
	}
	r := rand.New(rand.NewPCG(seed, streamRMAT))
	n := 1 << scale
	perm := r.Perm(n)
	edges := make([]graph.Edge, 0, n)
	for range n * edgeFactor {
		from, to := 0, 0
		for range scale {
			x := r.Uint32()
			from, to = from<<1, to<<1
			switch {
			case x < rmatA:
			case x < rmatB:
				to |= 1
			case x < rmatC:
				from |= 1
			default:
				from, to = from|1, to|1
			}
		}
		if from != to {
			edges = append(edges, graph.Edge{From: graph.NodeID(perm[from]), To: graph.NodeID(perm[to])})
		}
	}
	return graph.FromEdges(n, edges)
}

// Random draws a graph of n vertices with exactly m distinct edges without loops, uniformly; m is in pairs {u, v} where
// not directed, and both directions are then stored. An m beyond the complete graph is an error. Meant for small graphs:
// time and memory grow with m through a hash set, and faster than m near the complete graph.
func Random(n, m int, directed bool, seed uint64) (*graph.CSR, error) {
	limit := int64(n) * int64(n-1)
	if !directed {
		limit /= 2
	}
	if n < 0 || n > maxVertices || m < 0 || int64(m) > limit {
		return nil, fmt.Errorf("random graph: %d edges do not fit %d vertices", m, n)
	}
	r := rand.New(rand.NewPCG(seed, streamRandom))
	seen := make(map[graph.Edge]struct{})
	var edges []graph.Edge
	for len(seen) < m {
		e := graph.Edge{From: graph.NodeID(r.IntN(n)), To: graph.NodeID(r.IntN(n))}
		if !directed && e.From > e.To {
			e.From, e.To = e.To, e.From
		}
		if _, ok := seen[e]; ok || e.From == e.To {
			continue
		}
		seen[e] = struct{}{}
		edges = append(edges, e)
		if !directed {
			edges = append(edges, graph.Edge{From: e.To, To: e.From})
		}
	}
	return graph.FromEdges(n, edges)
}
