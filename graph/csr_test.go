package graph

import (
	"slices"
	"strings"
	"testing"
)

func mustEdges(t *testing.T, n int, e ...Edge) *CSR {
	t.Helper()
	g, err := FromEdges(n, e)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestBuild(t *testing.T) {
	g := mustEdges(t, 4, Edge{0, 1}, Edge{2, 1}, Edge{0, 1}, Edge{3, 3}, Edge{1, 0})
	if want := []int64{0, 1, 3, 3, 4}; !slices.Equal(g.Indptr, want) {
		t.Errorf("row pointers %v, want %v", g.Indptr, want)
	}
	if want := []NodeID{1, 0, 2, 3}; !slices.Equal(g.Indices, want) {
		t.Errorf("indices %v, want %v", g.Indices, want)
	}
	if !g.Transpose().Transpose().Equal(g) {
		t.Error("transposing twice changes the graph")
	}
	if g.Symmetric() || !g.Symmetrise().Symmetric() {
		t.Error("symmetry is misjudged")
	}
	if got := g.WithoutLoops().Edges(); got != 3 {
		t.Errorf("%d edges without loops, want 3", got)
	}
	if got := g.WithLoops().Edges(); got != 7 {
		t.Errorf("%d edges with loops, want 7", got)
	}
	if in, out := g.InDegree(), g.OutDegree(); !slices.Equal(in, []int32{1, 2, 0, 1}) || !slices.Equal(out, []int32{1, 1, 1, 1}) {
		t.Errorf("degrees in %v, out %v", in, out)
	}
}

func TestBuildRefusesBadInput(t *testing.T) {
	if _, err := FromEdges(2, []Edge{{0, 2}}); err == nil {
		t.Error("an edge out of range was taken")
	}
	for name, g := range map[string]*CSR{
		"no pointers":   {},
		"starts late":   {Indptr: []int64{1, 1}, Indices: []NodeID{0}, Cols: 1},
		"ends late":     {Indptr: []int64{0, 9}, Indices: []NodeID{0}, Cols: 1},
		"goes back":     {Indptr: []int64{0, 2, 1, 2}, Indices: []NodeID{0, 0}, Cols: 1},
		"beyond middle": {Indptr: []int64{0, 9, 2}, Indices: []NodeID{0, 0}, Cols: 1},
		"negative id":   {Indptr: []int64{0, 1}, Indices: []NodeID{-1}, Cols: 1},
		"large id":      {Indptr: []int64{0, 1}, Indices: []NodeID{1}, Cols: 1},
	} {
		if _, err := Normalise(g); err == nil {
			t.Errorf("%s: taken by Normalise", name)
		}
		if err := g.Validate(); err == nil {
			t.Errorf("%s: taken by Validate", name)
		}
	}
}

// A graph is normal if its rows ascend without repeats; what is out of bounds is an error, not a graph that is not normal.
func TestNormal(t *testing.T) {
	for _, c := range []struct {
		indptr  []int64
		indices []int32
		normal  bool
		fault   string
	}{
		{[]int64{0, 2, 3}, []int32{0, 1, 1}, true, ""},
		{[]int64{0, 2, 3}, []int32{1, 0, 1}, false, ""},
		{[]int64{0, 2, 3}, []int32{1, 1, 1}, false, ""},
		{[]int64{0, 2, 3}, []int32{1, 2, 1}, false, "outside"},
		{[]int64{0, 4, 3}, []int32{0, 1, 1}, false, "out of order"},
		{[]int64{0, 2}, []int32{0}, false, "row pointers"},
		{nil, nil, false, "empty"},
	} {
		normal, err := (&CSR{Indptr: c.indptr, Indices: c.indices, Cols: 2}).Normal()
		if normal != c.normal || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%v, %v: %t, %v", c.indptr, c.indices, normal, err)
		}
	}
}
