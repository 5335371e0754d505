package graph

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPairInducesEdges compares pairs with what every edge of the graph says, for directed and symmetric graphs and all loops.
func TestPairInducesEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, symmetric := range []bool{false, true} {
		for _, loops := range []Loops{LoopsKept, LoopsAdded, LoopsRemoved} {
			const n, parts = 60, 5
			var edges []Edge
			for range 400 {
				edges = append(edges, Edge{From: r.Int32N(n), To: r.Int32N(n)})
			}
			g, err := FromEdges(n, edges)
			if err != nil {
				t.Fatal(err)
			}
			if symmetric {
				g = g.Symmetrise()
			}
			part := make([]int32, n)
			for v := range part {
				part[v] = r.Int32N(parts)
			}
			c, err := Split(g, loops, part, parts, AllNeeded(n, 2), 2, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			between := c.EdgesBetween(g, loops)
			for a := range parts {
				for b := range parts {
					if a != b {
						checkPair(t, c, g, loops, a, b, between)
					}
				}
			}
		}
	}
}

func checkPair(t *testing.T, c *Cut, g *CSR, loops Loops, a, b int, between [][]int64) {
	t.Helper()
	p := c.Pair(g, loops, a, b)
	whole := g.withLoops(loops)
	if loops == LoopsKept {
		whole = g
	}
	if err := p.In.Validate(); err != nil {
		t.Fatalf("loops %v, parts %d and %d: %v", loops, a, b, err)
	}
	if want := p.In.Transpose(); !p.Out.Equal(want) {
		t.Errorf("loops %v, parts %d and %d: Out is not the transpose of In", loops, a, b)
	}
	if want := between[a][a] + between[a][b] + between[b][a] + between[b][b]; p.In.Edges() != want {
		t.Errorf("loops %v, parts %d and %d: %d edges, EdgesBetween says %d", loops, a, b, p.In.Edges(), want)
	}
	out, ids := c.Outside(g, p.IDs, a, b)
	for i, v := range p.IDs {
		var got []NodeID
		for _, k := range p.In.Row(i) {
			got = append(got, p.IDs[k])
		}
		for _, k := range out.Row(i) {
			got = append(got, ids[k])
		}
		slices.Sort(got)
		if !slices.Equal(got, whole.Row(int(v))) {
			t.Fatalf("loops %v, parts %d and %d: vertex %d reads %v, want %v", loops, a, b, v, got, whole.Row(int(v)))
		}
	}
}
