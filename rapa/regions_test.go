package rapa

import (
	"slices"
	"testing"

	"capgnn/graph"
)

// cliques returns a ring of cliques: consecutive ones are joined by one edge, both ways.
func cliques(t testing.TB, count, size int) *graph.CSR {
	var edges []graph.Edge
	both := func(u, v int) {
		edges = append(edges, graph.Edge{From: graph.NodeID(u), To: graph.NodeID(v)}, graph.Edge{From: graph.NodeID(v), To: graph.NodeID(u)})
	}
	for c := range count {
		for i := range size {
			for j := range i {
				both(c*size+i, c*size+j)
			}
		}
		both(c*size, (c+1)%count*size+1)
	}
	return must(t)(graph.FromEdges(count*size, edges))
}

// TestGroupsHoldTogether: cliques are found where there is room for them; less room makes smaller groups; other parts do not count.
func TestGroupsHoldTogether(t *testing.T) {
	const count, size = 12, 10
	g := cliques(t, count, size)
	part := make([]int32, count*size)
	for v := range part[:2*size] {
		part[v] = 1
	}
	label := communities(NewDirections(g), part, 0, 0.12) // a tenth of the part is a clique
	for v := 2 * size; v < len(part); v++ {
		if first := v / size * size; label[v] != label[first] || label[v] < int32(first) || label[v] >= int32(first+size) {
			t.Errorf("vertex %d of clique %d has label %d", v, v/size, label[v])
		}
	}
	members := map[int32]int{}
	for _, l := range communities(NewDirections(g), part, 0, 0.05)[2*size:] {
		members[l]++
	}
	for l, k := range members {
		if k > size/2 {
			t.Errorf("group %d has %d members, and room for %d", l, k, size/2)
		}
	}
	var leaves []graph.Edge // a hub reads them, they read nobody
	for v := 1; v < size; v++ {
		leaves = append(leaves, graph.Edge{From: graph.NodeID(v), To: 0})
	}
	if label := communities(NewDirections(must(t)(graph.FromEdges(size, leaves))), make([]int32, size), 0, 1); slices.Min(label) != slices.Max(label) {
		t.Errorf("a hub and the leaves that it reads have labels %v", label)
	}
}

// TestRegionsMove: two equal devices, part 0 has ten cliques and part 1 has two, and a cut edge costs as much as ten others.
// Taking a clique apart never pays; four that move as a whole make the costs equal, and cut no more than two edges.
func TestRegionsMove(t *testing.T) {
	const count, size = 12, 30
	g := cliques(t, count, size)
	part := make([]int32, count*size)
	for v := range part[:2*size] {
		part[v] = 1
	}
	costs := []PartCost{{PerEdge: 1, PerOuter: 10}, {PerEdge: 1, PerOuter: 10}}
	check := func(how string, r *Rebalanced) {
		if r.Stop != StopBalanced || r.Moved != 4*size {
			t.Errorf("%s: %d moved, %s: %+v", how, r.Moved, r.Stop, r.Counts)
		}
		for c := range count {
			if in := r.Part[c*size : (c+1)*size]; slices.Min(in) != slices.Max(in) {
				t.Errorf("%s: clique %d lies in two parts", how, c)
			}
		}
	}
	r, err := Rebalance(t.Context(), NewDirections(g), part, costs, RebalanceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check("all ways", r)
	start := newRebalancer(newPlacement(NewDirections(g), part, 2), costs, RebalanceOptions{Tolerance: 0.01})
	start.record()
	alone := start.clone([]reach{together})
	if err := alone.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("regions alone", alone.result(part))
}
