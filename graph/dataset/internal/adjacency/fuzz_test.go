package adjacency

import (
	"slices"
	"testing"

	"capgnn/graph"
)

// FuzzRows: what is built in place equals what package graph builds beside, made symmetric or not.
func FuzzRows(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0, 2, 2, 3, 1}, uint8(4), false)
	f.Add([]byte{0, 1, 0, 1, 0, 2}, uint8(3), true)
	f.Fuzz(func(t *testing.T, ends []byte, n uint8, tight bool) {
		var all []graph.Edge
		for i := 0; n > 0 && i+1 < len(ends); i += 2 {
			all = append(all, graph.Edge{From: graph.NodeID(ends[i] % n), To: graph.NodeID(ends[i+1] % n)})
		}
		want, err := graph.FromEdges(int(n), all)
		if err != nil {
			t.Fatal(err)
		}
		g, _, err := InRows(listOf(all), !tight, func(*RowCounts) (int, error) { return int(n), nil })
		if err == nil && tight {
			if !g.Equal(want) {
				t.Fatalf("%v: %v, want %v", all, g, want)
			}
			g.Indices = slices.Clip(g.Indices)
			g, err = Symmetrised(g)
		}
		if err != nil || !g.Equal(want.Symmetrise()) {
			t.Fatalf("%v: %v, %v, want %v", all, g, err, want.Symmetrise())
		}
	})
}

// FuzzIDs: any ids become their places in ascending order.
func FuzzIDs(f *testing.F) {
	f.Add([]byte{1, 2, 3, 250, 3}, uint8(40))
	f.Fuzz(func(t *testing.T, b []byte, shift uint8) {
		var s IDs
		var want []int64
		for i, v := range b {
			id := int64(v) << (shift % 55) * int64(i%2+1)
			if err := s.Add(id); err != nil {
				t.Fatal(err)
			}
			if want = append(want, id); i%7 == 6 {
				if err := s.merge(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		for i, id := range slices.Compact(want) {
			if v, ok := s.Place(id); !ok || int(v) != i || s.Sorted[i] != id {
				t.Fatalf("id %d is at %d, %v, want %d of %v", id, v, ok, i, s.Sorted)
			}
		}
	})
}
