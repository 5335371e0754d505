package jaca

import (
	"slices"
	"testing"

	"capgnn/graph"
)

// four are the exchanges of four vertices in three parts: 0 and 1 in part 0, 2 in part 1, 3 in part 2. In-neighbours:
//
//	0: 2 3    1: 2    2: 0 3    3: 0
//
// so forward halos are part 0: {2, 3}, part 1: {0, 3}, part 2: {0}, and R(0) = 2, R(2) = 1, R(3) = 2.
// Backward, the readers of a vertex are its halo: 0 → {2, 3}, 2 → {0, 1}, 3 → {0, 2}: part 0: {2, 3}, part 1: {0, 1}, part 2:
// {0, 2}, and R = 2, 1, 2, 1.
func four(t *testing.T) (forward, backward Exchange) {
	edges := []graph.Edge{{From: 2, To: 0}, {From: 3, To: 0}, {From: 2, To: 1}, {From: 0, To: 2}, {From: 3, To: 2}, {From: 0, To: 3}}
	g, err := graph.FromEdges(4, edges)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := graph.Split(g, graph.LoopsKept, []int32{0, 0, 1, 2}, 3, graph.AllNeeded(4, 2), 2, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return NewExchange(cut, 1, Forward, 40), NewExchange(cut, 1, Backward, 24)
}

func TestOverlap(t *testing.T) {
	forward, backward := four(t)
	for _, tc := range []struct {
		x   Exchange
		ids []graph.NodeID
		r   []int32
	}{{forward, []graph.NodeID{0, 2, 3}, []int32{2, 1, 2}}, {backward, []graph.NodeID{0, 1, 2, 3}, []int32{2, 1, 2, 1}}} {
		ids, r := Overlap(&tc.x)
		if !slices.Equal(ids, tc.ids) || !slices.Equal(r, tc.r) {
			t.Errorf("%s: ids %v, R %v, want %v, %v", tc.x.Dir, ids, r, tc.ids, tc.r)
		}
	}
	h := &forward.Halos[0]
	if !slices.Equal(h.IDs, []graph.NodeID{2, 3}) || !slices.Equal(h.Edges, []int32{2, 1}) || forward.Rows() != 5 {
		t.Errorf("part 0 reads %v over %v edges, %d rows in all", h.IDs, h.Edges, forward.Rows())
	}
}

// TestOverlapSlow counts R of random exchanges with a table of sets.
func TestOverlapSlow(t *testing.T) {
	d := &draw{seed: 3}
	for range 200 {
		x := tiny(d, 2+d.below(5), 1+d.below(20))
		readers := map[graph.NodeID]int32{}
		for i := range x.Halos {
			for _, v := range x.Halos[i].IDs {
				readers[v]++
			}
		}
		ids, r := Overlap(&x)
		if len(ids) != len(readers) || !slices.IsSorted(ids) {
			t.Fatalf("%d ids, want %d, ascending", len(ids), len(readers))
		}
		for k, v := range ids {
			if r[k] != readers[v] {
				t.Fatalf("R(%d) = %d, want %d", v, r[k], readers[v])
			}
		}
	}
}

// TestNeededRows: where only vertex 0 is trained, layer 1 of two exchanges what computing it reads, and no more.
func TestNeededRows(t *testing.T) {
	g, err := graph.FromEdges(3, []graph.Edge{{From: 1, To: 0}, {From: 2, To: 1}})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := graph.Split(g, graph.LoopsKept, []int32{0, 1, 2}, 3, graph.Needed(g, []bool{true, false, false}, 2, nil), 2, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	forward, backward := NewExchange(cut, 1, Forward, 4), NewExchange(cut, 1, Backward, 4)
	ids, _ := Overlap(&forward)
	if !slices.Equal(ids, []graph.NodeID{1}) {
		t.Errorf("forward: %v", ids)
	}
	if ids, _ = Overlap(&backward); !slices.Equal(ids, []graph.NodeID{0}) {
		t.Errorf("backward: %v", ids)
	}
}

func TestExchangeRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Exchange){
		"layer 0":         func(x *Exchange) { x.Layer = 0 },
		"no bytes":        func(x *Exchange) { x.RowBytes = 0 },
		"too many rows":   func(x *Exchange) { x.Halos[0].Count[0] = 99 },
		"own rows":        func(x *Exchange) { x.Halos[0].Owners.Parts[0] = 0 },
		"missing edges":   func(x *Exchange) { x.Halos[1].Edges = nil },
		"missing offsets": func(x *Exchange) { x.Halos[1].Owners.At = x.Halos[1].Owners.At[:1] },
	} {
		x, _ := four(t)
		spoil(&x)
		if _, err := Capacity([]Exchange{x}, Memory{}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func ids(v ...graph.NodeID) []graph.NodeID { return v }

// owners are part 0 for the entries from the first to the second, part 1 for those from there to the third, and so on.
func owners(at ...int) graph.Owners {
	var o graph.Owners
	for p, end := range at[1:] {
		o.Append(p, end)
	}
	return o
}
