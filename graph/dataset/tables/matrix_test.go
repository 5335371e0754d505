package tables

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/npy"
)

// A matrix of features has a row for each line of the table, and stands behind its numbers.
func TestFeatureMatrix(t *testing.T) {
	const nodes = "id,x,c\na,1,u\nb,,v\nc,3,u\n"
	for name, tc := range map[string]struct {
		data   any
		change func(*Tables)
		want   []float32
		names  string
		fault  string
	}{
		"alone":          {data: []float32{1, 2, 3, 4, 5, 6}, change: func(s *Tables) { s.Drop = []string{"x", "c"} }, want: []float32{1, 2, 3, 4, 5, 6}, names: "X_0 X_1"},
		"beside columns": {data: []float32{1, 2, 3, 4, 5, 6}, change: func(s *Tables) { s.Missing, s.Categorical = "7", []string{"c"} }, want: []float32{1, 1, 2, 1, 0, 7, 3, 4, 0, 1, 3, 5, 6, 1, 0}, names: "x X_0 X_1 c=u c=v"},
		"left out":       {data: []int64{1, 2, 3, 4, 5, 6}, change: func(s *Tables) { s.Missing, s.Drop = "drop", []string{"c"} }, want: []float32{1, 1, 2, 3, 5, 6}, names: "x X_0 X_1"},
		"NaN":            {data: []float32{1, 2, 3, float32(math.NaN()), 5, 6}, fault: "X.npy: byte 140: row 1, column 1 is NaN; features must be finite"},
		"beyond float32": {data: []float64{1, 2, 3, 4, 1e39, 6}, fault: "row 2, column 0 is 1e+39"},
		"rows":           {data: []float32{1, 2, 3, 4}, fault: "has shape [2 2], want a row for each of the 3 lines of nodes.csv"},
		"text":           {data: []string{"a", "b", "c", "d", "e", "f"}, fault: "want numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := 3
			if f, ok := tc.data.([]float32); ok {
				rows = len(f) / 2
			}
			path := filepath.Join(t.TempDir(), "X.npy")
			if err := npy.WriteFile(path, []int{rows, 2}, tc.data); err != nil {
				t.Fatal(err)
			}
			dir, w, err := tablesOf(t, nodes, "source,target\na,c\n", func(s *Tables) {
				s.Label, s.Features, s.Missing, s.Categorical = "", path, "0", []string{"c"}
				if tc.change != nil {
					s.Missing, s.Categorical = "", nil
					tc.change(s)
				}
			})
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) {
					t.Errorf("got %v, want %q", err, tc.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d, err := formats.Load(dir, dataset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if got := strings.Join(w.Features, " "); !slices.Equal(d.Features.Dense, tc.want) || got != tc.names || strings.Join(d.ColumnNames, " ") != tc.names {
				t.Errorf("features %v, names %q and %q, want %v, %q", d.Features.Dense, got, d.ColumnNames, tc.want, tc.names)
			}
		})
	}
}

// Numbers that float32 does not hold as they are stay as they are.
func TestFeatureMatrixKeepsDigits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "X.npy")
	if err := npy.WriteFile(path, []int{2}, []int64{1706659200, 1706659201}); err != nil {
		t.Fatal(err)
	}
	dir, _, err := tablesOf(t, "id\na\nb\n", "source,target\na,b\n", func(s *Tables) { s.Label, s.Features = "", path })
	if err != nil {
		t.Fatal(err)
	}
	a, err := npy.Open(filepath.Join(dir, "features.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Float64(); err != nil || !slices.Equal(got, []float64{1706659200, 1706659201}) || a.DType != (npy.DType{Kind: 'f', Size: 8}) {
		t.Errorf("%v %v, %v", a.DType, got, err)
	}
}
