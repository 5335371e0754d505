package graph

import (
	"sync"
	"sync/atomic"
)

// Level says how deep in the network a vertex's rows are needed in training: level k means that the output of layer k-1
// (for k = 0: the input features) is needed, and all outputs before it. Vertices no training loss depends on have -1.
type Level = int8

// Needed returns the level of every vertex for a network of the given number of layers whose loss is taken at seeds.
//
//	S_layers = seeds;  S_{k-1} = S_k ∪ in-neighbours of S_k;  level(v) = max {k : v ∈ S_k}, or -1
//
// All layers but the first ignore the edges that p drops, if p is not nil: for k > 1 only kept in-neighbours count.
// Layer ℓ computes the rows of S_{ℓ+1} from those of S_ℓ. A row always needs itself (root weights, self-loops). Cost:
// one pass over the rows of S_1, on all processors. Source: exact optimisation 4 of docs/mathematics.md.
func Needed(g *CSR, seeds []bool, layers int, p *Pruning) []Level {
	met := make([]atomic.Bool, g.Rows())
	level := make([]Level, g.Rows())
	var frontier []NodeID
	for v := range level {
		level[v] = -1
		if seeds[v] {
			met[v].Store(true)
			frontier = append(frontier, NodeID(v))
		}
	}
	for k := layers; k >= 0; k-- {
		if k == 1 && p != nil { // rows met before k was 1 have not shown the neighbours that are dropped
			frontier = frontier[:0]
			for v := range met {
				if met[v].Load() {
					frontier = append(frontier, NodeID(v))
				}
			}
		}
		var mu sync.Mutex
		var next []NodeID
		EachBlock(len(frontier), rowBlock, func(lo, hi int) {
			var found []NodeID // by this block first
			for _, v := range frontier[lo:hi] {
				level[v] = max(level[v], Level(k))
				if k == 0 {
					continue
				}
				for _, u := range g.Row(int(v)) {
					if k > 1 && p != nil && p.Drops(u, v) {
						continue
					}
					if !met[u].Load() && met[u].CompareAndSwap(false, true) {
						found = append(found, u)
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			next = append(next, found...)
		})
		frontier = next
	}
	return level
}

// AllNeeded returns the levels of a network that computes every row of every layer.
func AllNeeded(vertices, layers int) []Level {
	level := make([]Level, vertices)
	for v := range level {
		level[v] = Level(layers)
	}
	return level
}
