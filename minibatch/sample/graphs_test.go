package sample

import (
	"math/rand/v2"
	"testing"

	"capgnn/graph"
)

var fanouts = [][]int{{3, 2}, {1}, {5, All}, {All, 4}, {2, All, 3}, {15, 10, 5}, {700, 2}, {600}, {31, 32, 1}, {}}

// rootsOf returns the roots of a few steps: none, some, all, a neighbour repeated as a root, the hub alone.
func rootsOf(n int) [][]graph.NodeID {
	all := make([]graph.NodeID, n)
	for i, v := range rand.New(rand.NewPCG(uint64(n), 1)).Perm(n) {
		all[i] = graph.NodeID(v)
	}
	return [][]graph.NodeID{all[:min(n, 9)], {}, all, {0}, {0, graph.NodeID(n - 1)}, all[n/2:]}
}

// graphs returns three graphs: one with a hub (vertex 0, 1,500 neighbours), vertices without neighbours and some stored loops; a
// random one whose degrees lie about the sizes of bit sets; and a clique with all loops beside a path.
func graphs(t testing.TB) map[string]*graph.CSR {
	r := rand.New(rand.NewPCG(5, 6))
	var hub, random, clique []graph.Edge
	edge := func(list *[]graph.Edge, from, to int) {
		*list = append(*list, graph.Edge{From: graph.NodeID(from), To: graph.NodeID(to)})
	}
	for v := 1; v <= 1500; v++ {
		edge(&hub, v, 0)
		if v%7 != 0 { // the others have no in-neighbours but a loop
			for range v % 5 {
				edge(&hub, r.IntN(1600), v)
			}
			edge(&hub, 0, v)
		}
		if v%3 == 0 {
			edge(&hub, v, v)
		}
	}
	edge(&hub, 0, 0)
	for v, degree := range []int{0, 1, 2, 31, 32, 33, 62, 63, 64, 65, 66, 126, 127, 128, 129, 510, 511, 512, 513, 514, 600, 639, 640, 641, 900} {
		for _, u := range r.Perm(1000)[:degree] {
			edge(&random, u, v)
		}
	}
	for range 3000 {
		edge(&random, r.IntN(1000), r.IntN(1000))
	}
	for v := range 40 {
		for u := range 40 {
			edge(&clique, u, v)
		}
	}
	for v := 40; v < 60; v++ {
		edge(&clique, v-1, v)
	}
	build := func(n int, edges []graph.Edge) *graph.CSR {
		g, err := graph.FromEdges(n, edges)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	return map[string]*graph.CSR{"hub": build(1600, hub), "degrees": build(1000, random), "clique": build(61, clique)}
}
