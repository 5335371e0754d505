package graph

// Level says how deep in the network a vertex's rows are needed in training: level k means that the output of layer k-1
// (for k = 0: the input features) is needed, and all outputs before it. Vertices no training loss depends on have -1.
type Level = int8

// Needed returns the level of every vertex for a network of the given number of layers whose loss is taken at seeds.
//
//	S_layers = seeds;  S_{k-1} = S_k ∪ in-neighbours of S_k;  level(v) = max {k : v ∈ S_k}, or -1
//
// Layer ℓ computes the rows of S_{ℓ+1} from those of S_ℓ. A row always needs itself (root weights, self-loops).
// Cost: one pass over the rows of S_1. Source: saving 4 of DESIGN.md 3.
func Needed(g *CSR, seeds []bool, layers int) []Level {
	level := make([]Level, g.Rows())
	var frontier []NodeID
	for v := range level {
		level[v] = -1
		if seeds[v] {
			level[v] = Level(layers)
			frontier = append(frontier, NodeID(v))
		}
	}
	for k := layers - 1; k >= 0; k-- {
		var next []NodeID
		for _, v := range frontier {
			for _, u := range g.Row(int(v)) {
				if level[u] < 0 {
					level[u] = Level(k)
					next = append(next, u)
				}
			}
		}
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
