package dataset

import (
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset/internal/check"
)

// star returns vertex 0 with in-edges from all others, and a loop.
func star(n int) *graph.CSR {
	g := &graph.CSR{Cols: n, Indptr: make([]int64, n+1)}
	for u := range n {
		g.Indices = append(g.Indices, graph.NodeID(u))
	}
	for v := range n {
		g.Indptr[v+1] = int64(n)
	}
	return g
}

func TestDegreeFeatures(t *testing.T) {
	for degree, want := range map[int]int32{0: 0, 1: 1, 63: 63, 64: 64, 127: 64, 128: 65, 255: 65, 256: 66, 1 << 20: 78, math.MaxInt32: degreeColumns - 1} {
		if got := degreeColumn(degree); got != want {
			t.Errorf("degree %d: got column %d, want %d", degree, got, want)
		}
	}
	d := &Dataset{Graph: star(70)}
	if err := d.MakeFeatures(FeaturesDegree, 1); err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	if f := d.Features; f.Cols != degreeColumns || f.Indices[0] != 64 || f.Indices[5] != 0 || f.Data[0] != 1 {
		t.Errorf("%d columns, vertex 0 in column %d, vertex 5 in %d", f.Cols, f.Indices[0], f.Indices[5])
	}
}

func TestOneHotFeatures(t *testing.T) {
	d := &Dataset{Graph: star(1)}
	for _, n := range []int{1, 2, 100} {
		d.Graph = star(n)
		if err := d.MakeFeatures(FeaturesOneHot, 1); err != nil {
			t.Fatal(err)
		}
		if err := d.Validate(); err != nil || d.Features.Cols != n || d.Features.Indices[n-1] != int32(n-1) {
			t.Errorf("%d vertices: %v, %d columns", n, err, d.Features.Cols)
		}
	}
	d.Graph = &graph.CSR{Cols: check.MaxCols + 1, Indptr: make([]int64, check.MaxCols+2)}
	if err := d.MakeFeatures(FeaturesOneHot, 1); err == nil || !strings.Contains(err.Error(), "at most 16777216") {
		t.Errorf("got %v", err)
	}
}

// Random features depend on seed, vertex and width alone, and have mean 0 and variance 1.
func TestRandomFeatures(t *testing.T) {
	a, err := randomFeatures(3000, 16, 7)
	if err != nil {
		t.Fatal(err)
	}
	fewer, _ := randomFeatures(1500, 16, 7)
	other, _ := randomFeatures(3000, 16, 8)
	if !slices.Equal(a.Dense[:1500*16], fewer.Dense) || slices.Equal(a.Dense, other.Dense) || slices.Equal(a.Dense[:16], a.Dense[1024*16:1025*16]) {
		t.Error("features must depend on seed and vertex")
	}
	sum, squares := 0.0, 0.0
	for _, v := range a.Dense {
		sum, squares = sum+float64(v), squares+float64(v)*float64(v)
	}
	n := float64(len(a.Dense))
	// Of n values the mean has the deviation 1/√n, their squares (fourth moment 9/5) √(4/5n): five times that.
	if mean := sum / n; math.Abs(mean) > 5/math.Sqrt(n) || math.Abs(squares/n-1) > 5*math.Sqrt(0.8/n) {
		t.Errorf("mean %g, mean square %g", sum/n, squares/n)
	}
	if want := []float32{a.Dense[0], a.Dense[1]}; math.Abs(float64(want[0])) > math.Sqrt(3) || want[0] == want[1] {
		t.Errorf("first values %v", want)
	}
}
