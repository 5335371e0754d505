package formats

import (
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/internal/npy"
)

// Names of vertices, columns and classes are read from their arrays, or a note says that they are left alone.
func TestBenchmarkNames(t *testing.T) {
	bench := smallBenchmark("adj_", "attr_")
	named := append(slices.Clone(bench), npy.Entry{Key: "node_names", Data: []string{"p1", "p\u00e9"}}, npy.Entry{Key: "attr_names", Data: []string{"x", "y"}},
		npy.Entry{Key: "class_names", Data: []string{"a", "b\n", "c"}})
	d, err := Load(datatest.NPZ(t, named...), dataset.Options{})
	if err != nil || d.ID(0) != "p1" || d.ID(1) != "p\u00e9" || !slices.Equal(d.ColumnNames, []string{"x", "y"}) ||
		!slices.Equal(d.ClassNames, []string{"a", "b ", "c"}) || d.Classes != 3 || strings.Join(d.Notes, "") != `labels: no vertex has class "c"` {
		t.Errorf("got %+v, %v", d, err)
	}
	store := []npy.Entry{{Key: "indptr", Data: []int64{0, 1, 2}}, {Key: "indices", Data: []int32{1, 0}}}
	for _, c := range []struct {
		name, id, note string
		entries        []npy.Entry
	}{
		{"numbers", "70", "", append(slices.Clone(bench), npy.Entry{Key: "node_names", Data: []int32{70, 80}})},
		{"too few", "0", "node_names: 1 names for 2: left alone", append(slices.Clone(bench), npy.Entry{Key: "node_names", Data: []string{"a"}})},
		{"too few classes", "0", "class_names: 1 names for 2: left alone", append(slices.Clone(bench), npy.Entry{Key: "class_names", Data: []string{"a"}})},
		{"no texts", "0", "attr_names: has type <f4 and shape [2], want 2 texts: left alone", append(slices.Clone(bench), npy.Entry{Key: "attr_names", Data: []float32{1, 2}})},
		{"store", "a", "", append(slices.Clone(store), npy.Entry{Key: "node_names", Data: []string{"a", "b"}})},
		{"store with ids", "7", "node_names: left alone, as ids are there", append(slices.Clone(store), npy.Entry{Key: "ids", Data: []int64{7, 8}}, npy.Entry{Key: "node_names", Data: []string{"a", "b"}})},
	} {
		d, err := Load(datatest.NPZ(t, c.entries...), dataset.Options{})
		if err != nil || d.ID(0) != c.id || strings.Join(d.Notes, "; ") != c.note {
			t.Errorf("%s: got %+v, %v", c.name, d, err)
		}
	}
}

// Names that NumPy pickled are not read, and the line says how they are saved as text.
func TestPickledNames(t *testing.T) {
	store := []npy.Entry{{Key: "indptr", Data: []int64{0, 1, 2}}, {Key: "indices", Data: []int32{1, 0}}}
	want := "node_names: has type |O and shape [2], want 2 texts: left alone (of Python objects, numpy.array(node_names, dtype=str) makes texts)"
	d, err := Load(datatest.Pickled(t, store, map[string]int{"node_names": 2}), dataset.Options{})
	if err != nil || strings.Join(d.Notes, "; ") != want {
		t.Errorf("got %+v, %v", d, err)
	}
	for key, want := range map[string]string{
		"ids":        `save texts with numpy.array(x, dtype=str), whole numbers with .astype("<i8")`,
		"y":          `save whole numbers with .astype("<i8"), names with numpy.unique(x.astype(str), return_inverse=True)[1]`,
		"train_mask": "save it with .astype(bool)",
		"classes":    "holds text, and is the number of classes",
	} {
		if _, err := Load(datatest.Pickled(t, store, map[string]int{key: 2}), dataset.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", key, err)
		}
	}
	d, err = Load(datatest.NPZ(t, append(store, npy.Entry{Key: "ids", Data: []string{"a", "b"}})...), dataset.Options{})
	if err != nil || d.ID(1) != "b" {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestBenchmarkFaults(t *testing.T) {
	good := []npy.Entry{
		{Key: "adj_data", Data: []float64{1, 1}}, {Key: "adj_indices", Data: []int32{1, 0}}, {Key: "adj_indptr", Data: []int32{0, 1, 2}}, {Key: "adj_shape", Data: []int64{2, 2}},
		{Key: "attr_data", Data: []float64{1, 1}}, {Key: "attr_indices", Data: []int32{1, 0}}, {Key: "attr_indptr", Data: []int32{0, 2, 2}}, {Key: "attr_shape", Data: []int64{2, 3}},
		{Key: "labels", Data: []int8{1, 0}},
	}
	d, err := Load(datatest.NPZ(t, good...), dataset.Options{})
	if err != nil || d.Classes != 2 || !slices.Equal(d.Features.Indices, []int32{0, 1}) || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "<f8 were converted") {
		t.Errorf("got %+v, %v", d, err)
	}
	for _, c := range []struct {
		want string
		e    npy.Entry
	}{
		{"adj_data.npy: byte 136: edge 1 has the weight 0.5", npy.Entry{Key: "adj_data", Data: []float64{1, 0.5}}},
		{"weight NaN", npy.Entry{Key: "adj_data", Data: []float32{1, nan()}}},
		{"adj_data.npy: has 1 entries, want 2", npy.Entry{Key: "adj_data", Data: []float32{1}}},
		{"is 2 × 3, want a square", npy.Entry{Key: "adj_shape", Data: []int64{2, 3}}},
		{"dimension -2 is outside", npy.Entry{Key: "adj_shape", Data: []int64{-2, -2}}},
		{"dimension 1099511627776", npy.Entry{Key: "adj_shape", Data: []int64{1 << 40, 1 << 40}}},
		{"has 3 row pointers; want 2000000001", npy.Entry{Key: "adj_shape", Data: []int64{2e9, 2e9}}},
		{"row 1: neighbour 2 is outside [0, 2)", npy.Entry{Key: "adj_indices", Data: []int32{1, 2}}},
		{"attr_shape.npy: is 3 × 3", npy.Entry{Key: "attr_shape", Data: []int64{3, 3}}},
		{"attr_shape.npy: is 2 × 2147483646", npy.Entry{Key: "attr_shape", Data: []int64{2, math.MaxInt32 - 1}}},
		{"column 3 is outside [0, 3)", npy.Entry{Key: "attr_indices", Data: []int32{1, 3}}},
		{"value 1 (column 0) is NaN", npy.Entry{Key: "attr_data", Data: []float64{1, math.NaN()}}},
		{"value 1e+300 does not fit float32", npy.Entry{Key: "attr_data", Data: []float64{1, 1e300}}},
		{"label -7 is below -1", npy.Entry{Key: "labels", Data: []int32{1, -7}}},
		{"has shape [3]", npy.Entry{Key: "labels", Data: []int32{1, 0, 0}}},
	} {
		if _, err := Load(datatest.NPZ(t, datatest.With(good, c.e)...), dataset.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
