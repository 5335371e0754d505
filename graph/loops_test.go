package graph_test

import (
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
)

// Rows in pieces, and degrees, are those of the graph with its loops as they are wanted.
func TestLoops(t *testing.T) {
	edges := []graph.Edge{{From: 0, To: 0}, {From: 3, To: 3}, {From: 4, To: 3}}
	some, err := graph.FromEdges(5, edges)
	if err != nil {
		t.Fatal(err)
	}
	many, err := synth.Random(200, 900, true, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*graph.CSR{some, many} {
		for loops, want := range map[graph.Loops]*graph.CSR{graph.LoopsKept: g, graph.LoopsAdded: g.WithLoops(), graph.LoopsRemoved: g.WithoutLoops()} {
			in, out := loops.Degrees(g)
			if !slices.Equal(in, want.InDegree()) || !slices.Equal(out, want.OutDegree()) {
				t.Errorf("loops %v: degrees %v and %v, want %v and %v", loops, in, out, want.InDegree(), want.OutDegree())
			}
			for v := range graph.NodeID(g.Rows()) {
				before, behind, loop := loops.Split(g, v)
				row := slices.Clone(before)
				if loop {
					row = append(row, v)
				}
				if row = append(row, behind...); !slices.Equal(row, want.Row(int(v))) {
					t.Errorf("loops %v: row %d is %v, want %v", loops, v, row, want.Row(int(v)))
				}
			}
		}
	}
}
