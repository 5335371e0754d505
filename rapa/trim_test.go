package rapa

import (
	"fmt"
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
)

// Every part loses its share, up to one replica, lowest scores first; what is listed is what is lost.
func TestTrim(t *testing.T) {
	g, block, err := synth.Blocks(2000, 4, 10, 0.7, 3)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDirections(g)
	before, err := Count(d, block, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, score := range PruneScores {
		for _, share := range []float64{0, 0.1, 0.5, 1} {
			t.Run(fmt.Sprint(score, share), func(t *testing.T) {
				a, err := Trim(t.Context(), d, block, 4, TrimOptions{Share: share, Score: score, SelfLoops: true})
				if err != nil {
					t.Fatal(err)
				}
				largest := int64(0) // in-edges that a part reads from one vertex
				for i := range before {
					listed := int64(0)
					for v := range g.Rows() {
						k := int64(0)
						for _, u := range d.Out.Row(v) {
							if block[u] == int32(i) {
								k++
							}
						}
						if block[v] == int32(i) {
							continue
						}
						largest = max(largest, k)
						if a.Dropped != nil && slices.Contains(a.Dropped[i], graph.NodeID(v)) {
							listed += k
						}
					}
					want := share * float64(before[i].Outer)
					if lost := a.Lost.PerPart[i]; lost != listed || float64(lost) > want || float64(lost+largest) < want {
						t.Errorf("part %d lost %d edges, the lists say %d, want about %g", i, lost, listed, want)
					}
				}
			})
		}
	}
	if _, err := Trim(t.Context(), d, block, 4, TrimOptions{Share: 1.5}); err == nil {
		t.Error("a share of 1.5 was taken")
	}
}

// With equal overlap ratios the replicas that go are those of lowest score.
func TestTrimTakesLowestFirst(t *testing.T) {
	// Part 0 holds 0 and 1, which read 2, 3 and 4 of part 1: 2 once, 3 and 4 twice.
	g, err := graph.FromEdges(5, []graph.Edge{{From: 2, To: 0}, {From: 3, To: 0}, {From: 3, To: 1}, {From: 4, To: 0}, {From: 4, To: 1}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Trim(t.Context(), NewDirections(g), []int32{0, 0, 1, 1, 1}, 2, TrimOptions{Share: 0.4, Score: ByWeight})
	if err != nil || a.Dropped == nil || !slices.Equal(a.Dropped[0], []graph.NodeID{2}) || a.Lost.Edges != 1 {
		t.Errorf("%+v, %v: want vertex 2 of weight 1/√3 to go, the next one has 2 of the 2 edges allowed", a, err)
	}
}
