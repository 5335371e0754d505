package adjacency

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
)

// randomEdges draws edges with repeats and loops among n vertices; a third of them also in the other direction.
func randomEdges(rng *rand.Rand, n, m int) []graph.Edge {
	var all []graph.Edge
	for len(all) < m {
		e := graph.Edge{From: graph.NodeID(rng.IntN(n)), To: graph.NodeID(rng.IntN(n) * rng.IntN(2))}
		if all = append(all, e); rng.IntN(3) == 0 {
			all = append(all, graph.Edge{From: e.To, To: e.From})
		}
	}
	return all
}

func listOf(all []graph.Edge) Edges {
	return func(edge func(from, to graph.NodeID)) error {
		for _, e := range all {
			edge(e.From, e.To)
		}
		return nil
	}
}

// What is built in place equals what package graph builds beside, with and without room behind the arrays.
func TestInRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][2]int{{1, 0}, {1, 3}, {2, 1}, {7, 5}, {7, 100}, {300, 1000}, {70000, 3000}, {200000, 200}} {
		n, all := size[0], randomEdges(rng, size[0], size[1])
		want, err := graph.FromEdges(n, all)
		if err != nil {
			t.Fatal(err)
		}
		vertices := func(c *RowCounts) (int, error) {
			largest := graph.NodeID(-1)
			for _, e := range all {
				largest = max(largest, e.From, e.To)
			}
			if c.Edges != int64(len(all)) || c.Largest != largest {
				t.Errorf("%d edges up to %d counted, want %d up to %d", c.Edges, c.Largest, len(all), largest)
			}
			return n, nil
		}
		got, counts, err := InRows(listOf(all), false, vertices)
		if err != nil || !got.Equal(want) || counts != (Counts{Stored: int64(len(all)), Normal: want.Edges()}) {
			t.Errorf("%v: %v, %+v", size, err, counts)
		}
		for name, in := range map[string]*graph.CSR{
			"tight": {Indptr: slices.Clone(want.Indptr), Indices: slices.Clip(slices.Clone(want.Indices)), Cols: n},
			"loose": {Indptr: slices.Clone(want.Indptr), Indices: append(make([]int32, 0, 2*len(want.Indices)), want.Indices...), Cols: n},
		} {
			if g, err := Symmetrised(in); err != nil || !g.Equal(want.Symmetrise()) {
				t.Errorf("%v, %s: symmetrised to %v, %v", size, name, g, err)
			}
		}
		if g, counts, err := InRows(listOf(all), true, vertices); err != nil || !g.Equal(want.Symmetrise()) || counts.Normal != want.Edges() {
			t.Errorf("%v: symmetric %v, %+v", size, err, counts)
		}
	}
}

// Edges that differ between the two readings are an error, whatever they are, and never a panic.
func TestChangingEdges(t *testing.T) {
	first := []graph.Edge{{From: 0, To: 1}, {From: 2, To: 2}, {From: 3, To: 0}}
	for _, second := range [][]graph.Edge{
		{}, first[:2], slices.Concat(first, first), {{From: 0, To: 1}, {From: 2, To: 3}, {From: 3, To: 0}}, {{From: 0, To: 1}, {From: 2, To: 2}, {From: 3, To: 9}},
		{first[1], first[0], first[2]},
	} {
		calls := 0
		list := func(edge func(from, to graph.NodeID)) error {
			if calls++; calls == 1 {
				return listOf(first)(edge)
			}
			return listOf(second)(edge)
		}
		if _, _, err := InRows(list, false, func(*RowCounts) (int, error) { return 4, nil }); err == nil || !strings.Contains(err.Error(), "changed") {
			t.Errorf("%v: got %v", second, err)
		}
	}
}

func TestIDSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for name, draw := range map[string]func() int64{
		"dense": func() int64 { return rng.Int64N(50000) }, "wide": func() int64 { return rng.Int64N(1e18) }, "one": func() int64 { return 7 },
		"clusters": func() int64 { return rng.Int64N(3)*1e17 + rng.Int64N(70000) }, "zero": func() int64 { return 0 },
	} {
		var s IDs
		var want []int64
		for range 3*freshIDs + 5 {
			id := draw()
			if err := s.Add(id); err != nil {
				t.Fatal(err)
			}
			want = append(want, id)
		}
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if !slices.Equal(s.Sorted, want) {
			t.Fatalf("%s: %d ids, want %d", name, len(s.Sorted), len(want))
		}
		for i, id := range want {
			if v, ok := s.Place(id); !ok || int(v) != i {
				t.Fatalf("%s: id %d is at %d, %v, want %d", name, id, v, ok, i)
			}
			for _, near := range []int64{id - 1, id + 1, -id - 1} {
				_, there := slices.BinarySearch(want, near)
				if _, ok := s.Place(near); ok != there {
					t.Fatalf("%s: id %d is there: %v, want %v", name, near, ok, there)
				}
			}
		}
	}
}
