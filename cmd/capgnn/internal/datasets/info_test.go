package datasets

import (
	"slices"
	"testing"

	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/graph"
	"capgnn/graph/dataset"
)

// A directed graph with a loop, an isolated vertex and one that has only a loop, and with several labels per vertex.
func TestDescribe(t *testing.T) {
	g, err := graph.FromEdges(6, []graph.Edge{{From: 0, To: 1}, {From: 2, To: 1}, {From: 1, To: 2}, {From: 3, To: 3}, {From: 0, To: 0}, {From: 5, To: 0}})
	if err != nil {
		t.Fatal(err)
	}
	d := &dataset.Dataset{
		Graph: g, Classes: 2, Targets: []uint8{1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0}, Train: []bool{true, true, false, false, false, false},
		Features: dataset.Features{Cols: 4, Indptr: []int64{0, 1, 1, 2, 2, 2, 2}, Indices: []int32{0, 3}, Data: []float32{0, 2}},
	}
	i := Describe(d)
	if i.Loops != 2 || i.Isolated != 2 || i.Symmetric || i.Edges != 6 {
		t.Errorf("%+v", i)
	}
	if !slices.Equal(i.InDegree.Log2, []int{2, 2, 2}) || !slices.Equal(i.OutDegree.Log2, []int{1, 4, 1}) || i.OutDegree.Max != 2 {
		t.Errorf("in %+v, out %+v", i.InDegree, i.OutDegree)
	}
	if i.Features.Nonzeros != 1 || !i.Features.Sparse || *i.Splits.Train != 2 || i.Splits.Test != nil {
		t.Errorf("features %+v, splits %+v", i.Features, i.Splits)
	}
	if !slices.Equal(i.Labels.Sizes, []int{3, 2}) || i.Labels.Unlabelled != 2 {
		t.Errorf("labels %+v", i.Labels)
	}
	// {0}–{0,1}, {1}–{0,1}, {0,1}–{1} and {}–{0}: (1/2 + 1/2 + 1/2 + 0) / 4
	if i.Homophily == nil || *i.Homophily != 0.375 {
		t.Errorf("homophily %v, want 0.375", *i.Homophily)
	}
}

func TestDescribeDegrees(t *testing.T) {
	d := make([]int32, 1000)
	for i := range d {
		d[(i*7)%1000] = int32(i + 1)
	}
	got := describeDegrees(d)
	if got.Min != 1 || got.Median != 500 || got.P90 != 900 || got.P99 != 990 || got.Max != 1000 || got.Mean != 500.5 {
		t.Errorf("%+v", got)
	}
	if want := []int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 489}; !slices.Equal(got.Log2, want) {
		t.Errorf("histogram %v, want %v", got.Log2, want)
	}
}

// Degrees of a run are those of `data info`.
func TestCountDegrees(t *testing.T) {
	for _, degrees := range [][]int64{{0}, {1, 0, 3, 2, 4, 0}, {7, 8, 1 << 40}, {2, 2}} {
		g, small := &graph.CSR{Indptr: []int64{0}}, make([]int32, len(degrees))
		for v, d := range degrees {
			g.Indptr, small[v] = append(g.Indptr, g.Indptr[v]+d), int32(min(d, 1<<30))
		}
		got := diskcache.CountDegrees(g)
		if degrees[len(degrees)-1] == 1<<40 {
			if len(got) != 42 || got[41] != 1 || got[3] != 1 || got[4] != 1 {
				t.Errorf("%v: %v", degrees, got)
			}
		} else if want := describeDegrees(small).Log2; !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", degrees, got, want)
		}
	}
}
