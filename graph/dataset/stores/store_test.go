package stores_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/npy"
	"capgnn/internal/published"
)

func TestRoundTrip(t *testing.T) {
	for _, d := range datatest.Tiny(t) {
		dir := t.TempDir()
		store, again, archive := filepath.Join(dir, d.Name), filepath.Join(dir, "sub", d.Name), filepath.Join(dir, d.Name+".npz")
		if err := errors.Join(stores.Write(store, d, nil), stores.Write(again, d, nil), writeNPZ(archive, d)); err != nil {
			t.Fatal(err)
		}
		for path, format := range map[string]string{store: "store", archive: "npz", filepath.Join(store, "meta.json"): "store"} {
			got, err := formats.Load(path, dataset.Options{})
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if !datatest.Equal(got, d) || got.Name != d.Name || got.Format != format || got.Source != path || len(got.Notes) != 0 {
				t.Errorf("%s: got %+v, want %+v", path, got, d)
			}
			if err := errors.Join(got.Close(), got.Close()); err != nil {
				t.Errorf("%s: close: %v", path, err)
			}
		}
		for _, name := range datatest.Names(t, store) {
			a, err1 := os.ReadFile(filepath.Join(store, name))
			b, err2 := os.ReadFile(filepath.Join(again, name))
			if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: %s: two runs differ (%v, %v)", d.Name, name, err1, err2)
			}
		}
		if err := stores.Write(store, d, nil); err == nil || !strings.Contains(err.Error(), "not empty") {
			t.Errorf("%s: written over a store: %v", d.Name, err)
		}
		if hidden, _ := filepath.Glob(filepath.Join(dir, ".*")); len(hidden) > 0 {
			t.Errorf("%s: temporary files were left: %v", d.Name, hidden)
		}
	}
}

// TestPublishedRoundTrip: a real data set comes back bit for bit from a store and from an .npz.
func TestPublishedRoundTrip(t *testing.T) {
	for _, name := range []string{"planetoid_citeseer", "amazon_photo"} {
		d, err := formats.Load(published.Path(t, name), dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := errors.Join(stores.Write(filepath.Join(dir, "s"), d, nil), writeNPZ(filepath.Join(dir, "a.npz"), d)); err != nil {
			t.Fatal(err)
		}
		for _, base := range []string{"s", "a.npz"} {
			got, err := formats.Load(filepath.Join(dir, base), dataset.Options{})
			if err != nil || !datatest.Equal(got, d) {
				t.Errorf("%s as %s: %v, equal: %v", name, base, err, err == nil && datatest.Equal(got, d))
				continue
			}
			got.Close()
		}
	}
}

func TestWriteRefusesInvalid(t *testing.T) {
	d := datatest.Tiny(t)[0]
	d.Labels[1] = 4
	dir := t.TempDir()
	if err := stores.Write(filepath.Join(dir, "s"), d, nil); err == nil || !strings.Contains(err.Error(), "label 4") {
		t.Errorf("got %v", err)
	}
	if err := writeNPZ(filepath.Join(dir, "s.npz"), d); err == nil {
		t.Error("an invalid data set was written")
	}
	if len(datatest.Names(t, dir)) != 0 {
		t.Errorf("files were left: %v", datatest.Names(t, dir))
	}
}

// TestForeignStore: other types, unsorted rows, repeats and empty masks, as somebody's Python would write them.
func TestForeignStore(t *testing.T) {
	path := datatest.NPZ(t,
		npy.Entry{Key: "indptr", Data: []int32{0, 4, 5, 5}}, npy.Entry{Key: "indices", Data: []int64{2, 1, 2, 0, 1}},
		npy.Entry{Key: "x", Shape: []int{3, 1}, Data: []float64{0.5, -0.5, 1}}, npy.Entry{Key: "y", Data: []int8{1, 0, -1}},
		npy.Entry{Key: "train_mask", Data: []uint8{1, 0, 0}}, npy.Entry{Key: "val_mask", Data: []bool{}},
	)
	want := map[string][][]int32{
		dataset.Auto: {{0, 1, 2}, {1}, {}}, dataset.Directed: {{0, 1, 2}, {1}, {}}, dataset.Reversed: {{0}, {0, 1}, {0}}, dataset.Symmetric: {{0, 1, 2}, {0, 1}, {0}},
	}
	for edges, rows := range want {
		d, err := formats.Load(path, dataset.Options{Edges: edges})
		if err != nil {
			t.Fatal(err)
		}
		for v, row := range rows {
			if !slices.Equal(d.Graph.Row(v), row) {
				t.Errorf("%s: row %d is %v, want %v", edges, v, d.Graph.Row(v), row)
			}
		}
		if d.Classes != 2 || !slices.Equal(d.Labels, []int32{1, 0, -1}) || !slices.Equal(d.Train, []bool{true, false, false}) || d.Val != nil {
			t.Errorf("%s: %+v", edges, d)
		}
		notes := strings.Join(d.Notes, "\n")
		if !strings.Contains(notes, "1 repeated edges") || !strings.Contains(notes, "<f8 were converted") {
			t.Errorf("%s: notes %q", edges, notes)
		}
	}
	if _, err := formats.Load(path, dataset.Options{Edges: "both"}); err == nil || !strings.Contains(err.Error(), `"both"`) {
		t.Errorf("edges both: %v", err)
	}
}

// TestForeignWeights: rows that are not sorted, and repeats, whose weights are added up; a column of float64 under PyG's name; in each direction, and ignored. Weights
// that are all 1 are none.
func TestForeignWeights(t *testing.T) {
	indptr, indices := npy.Entry{Key: "indptr", Data: []int64{0, 4, 5, 5}}, npy.Entry{Key: "indices", Data: []int64{2, 1, 2, 0, 1}}
	ones := npy.Entry{Key: "weights", Data: []int8{1, 1, 1, 1, 1}}
	dir := t.TempDir()
	for _, e := range []npy.Entry{indptr, indices, {Key: "edge_weight", Shape: []int{5, 1}, Data: []float64{0.5, 2, 0.25, -1, 8}}} {
		if err := stores.WriteArray(dir, e, nil); err != nil {
			t.Fatal(err)
		}
	}
	archive := datatest.NPZ(t, indptr, indices, npy.Entry{Key: "edge_weight", Shape: []int{5, 1}, Data: []float64{0.5, 2, 0.25, -1, 8}})
	for _, path := range []string{dir, archive} {
		for edges, want := range map[string][]float32{
			dataset.Directed: {-1, 2, 0.75, 8}, dataset.Reversed: {-1, 2, 8, 0.75}, dataset.Symmetric: {-1, 2, 0.75, 2, 8, 0.75},
		} {
			d, err := formats.Load(path, dataset.Options{Edges: edges})
			if err != nil || !slices.Equal(d.Graph.Weights, want) {
				t.Errorf("%s, %s: %v, %v, want %v", path, edges, d, err, want)
			}
			d, err = formats.Load(path, dataset.Options{Edges: edges, IgnoreWeights: true})
			if err != nil || d.Graph.Weights != nil {
				t.Errorf("%s, %s, ignored: %v, %v", path, edges, d, err)
			}
		}
	}
	if d, err := formats.Load(datatest.NPZ(t, indptr, indices, ones), dataset.Options{}); err != nil || d.Graph.Weights != nil {
		t.Errorf("weights of 1: %v, %v", d, err)
	}
}

// TestWeightsThatAreNotRead: a store says so where weights are there that meta.json denies, and where weights.npy is a link to nowhere.
func TestWeightsThatAreNotRead(t *testing.T) {
	dir := t.TempDir()
	for _, e := range []npy.Entry{{Key: "indptr", Data: []int64{0, 1, 2}}, {Key: "indices", Data: []int32{1, 0}}, {Key: "weights", Data: []float32{2, 3}}} {
		if err := stores.WriteArray(dir, e, nil); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string) {
		t.Helper()
		if _, err := formats.Load(dir, dataset.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, stores.MetaFile), []byte(`{"weighted": false}`), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("weighted is false, but weights.npy is there")
	weights := filepath.Join(dir, "weights.npy")
	if err := errors.Join(os.Remove(filepath.Join(dir, stores.MetaFile)), os.Remove(weights), os.Symlink("nowhere", weights)); err != nil {
		t.Fatal(err)
	}
	refused(weights + ": no such file")
}

func TestSparseRowsAreSorted(t *testing.T) {
	path := datatest.NPZ(t,
		npy.Entry{Key: "indptr", Data: []int64{0, 0, 0}}, npy.Entry{Key: "indices", Data: []int32{}},
		npy.Entry{Key: "x_indptr", Data: []int64{0, 3, 4}}, npy.Entry{Key: "x_indices", Data: []int32{5, 2, 5, 0}}, npy.Entry{Key: "x_data", Data: []float32{1, 2, 4, 8}},
	)
	d, err := formats.Load(path, dataset.Options{})
	want := dataset.Features{Cols: 6, Indptr: []int64{0, 2, 3}, Indices: []int32{2, 5, 0}, Data: []float32{2, 5, 8}}
	if err != nil || !reflect.DeepEqual(d.Features, want) {
		t.Errorf("got %+v, %v, want %+v", d, err, want)
	}
}

// TestInconsistentStores: each is one line that names the file and the fault.
func TestInconsistentStores(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	good := stores.Entries(datatest.Tiny(t)[0])
	sparse := append(stores.Entries(datatest.Tiny(t)[1]), npy.Entry{Key: "x_shape", Data: []int64{5, 9}})
	cases := []struct {
		name, want string
		entries    []npy.Entry
	}{
		{"first pointer", "indptr.npy: byte 128: the first row pointer is 1", datatest.With(good, npy.Entry{Key: "indptr", Data: []int64{1, 3, 4, 4, 5, 5}})},
		{"pointers fall", "row pointer 2 is 2", datatest.With(good, npy.Entry{Key: "indptr", Data: []int64{0, 3, 2, 4, 5, 5}})},
		{"pointer beyond", "row pointer 1 is 4611686018427387904", datatest.With(good, npy.Entry{Key: "indptr", Data: []int64{0, 1 << 62, 3, 4, 5, 5}})},
		{"pointer below", "row pointer 3 is -9223372036854775808", datatest.With(good, npy.Entry{Key: "indptr", Data: []int64{0, 3, 3, math.MinInt64, 5, 5}})},
		{"too few edges", "but there are 7 entries", datatest.With(good, npy.Entry{Key: "indices", Data: []int32{1, 2, 4, 0, 3, 0, 0}})},
		{"neighbour", "indices.npy: byte 136: row 0: neighbour 5 is outside [0, 5)", datatest.With(good, npy.Entry{Key: "indices", Data: []int32{1, 2, 5, 0, 3}})},
		{"negative neighbour", "row 1: neighbour -1", datatest.With(good, npy.Entry{Key: "indices", Data: []int32{1, 2, 4, -1, 3}})},
		{"wide neighbour", "want 32-bit integers", datatest.With(good, npy.Entry{Key: "indices", Data: []int64{1, 2, 1 << 33, 0, 3}})},
		{"float pointers", "want 64-bit integers", datatest.With(good, npy.Entry{Key: "indptr", Data: []float64{0, 3, 4, 4, 5, 5}})},
		{"matrix of pointers", "want one dimension", datatest.With(good, npy.Entry{Key: "indptr", Shape: []int{2, 3}, Data: []int64{0, 3, 4, 4, 5, 5}})},
		{"no vertices", "no vertices", []npy.Entry{{Key: "indptr", Data: []int64{0}}, {Key: "indices", Data: []int32{}}}},
		{"no pointers", "0 row pointers", []npy.Entry{{Key: "indptr", Data: []int64{}}, {Key: "indices", Data: []int32{}}}},
		{"too few weights", "weights.npy: has shape [4], want a weight for each of 5 edges", datatest.With(good, npy.Entry{Key: "weights", Data: make([]float32, 4)})},
		{"matrix of weights", "edge_weight.npy: has shape [5 2]", datatest.With(good, npy.Entry{Key: "edge_weight", Shape: []int{5, 2}, Data: make([]float32, 10)})},
		{"text weights", "weights.npy: holds elements of type <U1, want numbers", datatest.With(good, npy.Entry{Key: "weights", Data: []string{"", "", "", "", ""}})},
		{"NaN weight", "weights.npy: byte 136: edge 2 has the weight NaN; weights must be finite", datatest.With(good, npy.Entry{Key: "weights", Data: []float32{1, 2, nan, 1, 1}})},
		{"infinite weight", "edge 4 has the weight -Inf", datatest.With(good, npy.Entry{Key: "weights", Data: []float32{1, 2, 1, 1, inf}})},
		{"wide weight", "value 1e+300 does not fit float32", datatest.With(good, npy.Entry{Key: "weights", Data: []float64{1, 2, 1e300, 1, 1}})},
		{"two weights", "edge_weight.npy: there is also weights.npy; keep one", append(slices.Clone(good), npy.Entry{Key: "weights", Data: make([]float32, 5)}, npy.Entry{Key: "edge_weight", Data: make([]float32, 5)})},
		{"rows of x", "x.npy: has shape [4 2]", datatest.With(good, npy.Entry{Key: "x", Shape: []int{4, 2}, Data: make([]float32, 8)})},
		{"vector x", "has shape [5]", datatest.With(good, npy.Entry{Key: "x", Data: make([]float32, 5)})},
		{"no columns", "has shape [5 0]", datatest.With(good, npy.Entry{Key: "x", Shape: []int{5, 0}, Data: []float32{}})},
		{"text x", "want numbers", datatest.With(good, npy.Entry{Key: "x", Shape: []int{5, 1}, Data: []string{"", "", "", "", ""}})},
		{"NaN", "x.npy: byte 140: row 1, column 1 is NaN", datatest.With(good, npy.Entry{Key: "x", Shape: []int{5, 2}, Data: []float32{0, 0, 0, nan, 0, 0, 0, 0, 0, 0}})},
		{"infinity", "row 4, column 0 is -Inf", datatest.With(good, npy.Entry{Key: "x", Shape: []int{5, 2}, Data: []float32{0, 0, 0, 0, 0, 0, 0, 0, inf, 0}})},
		{"labels", "y.npy: has shape [4]", datatest.With(good, npy.Entry{Key: "y", Data: []int64{0, 0, 0, 0}})},
		{"label below -1", "y.npy: byte 144: vertex 2: label -2 is below -1", datatest.With(good, npy.Entry{Key: "y", Data: []int64{0, 0, -2, 0, 0}})},
		{"wild label", "label 9223372036854775807 is outside", datatest.With(good, npy.Entry{Key: "y", Data: []int64{0, 0, math.MaxInt64, 0, 0}})},
		{"float labels", "want 64-bit integers", datatest.With(good, npy.Entry{Key: "y", Data: []float32{0, 0, 0, 0, 0}})},
		{"more labels than classes", "label 2 is outside [-1, 2)", datatest.With(good, npy.Entry{Key: "classes", Shape: []int{}, Data: []int64{2}})},
		{"wild classes", "at most 65536", datatest.With(good, npy.Entry{Key: "classes", Shape: []int{}, Data: []int64{1 << 30}})},
		{"targets of 2", "byte 130: vertex 1, class 0: 2 is neither", datatest.With(good, npy.Entry{Key: "y", Shape: []int{5, 2}, Data: []uint8{0, 1, 2, 0, 0, 0, 0, 0, 0, 0}})},
		{"column of labels", "has shape [5 1]", datatest.With(good, npy.Entry{Key: "y", Shape: []int{5, 1}, Data: []int64{0, 1, 2, 0, 0}})},
		{"mask", "val_mask.npy: has 4 entries, want 5", datatest.With(good, npy.Entry{Key: "val_mask", Data: make([]bool, 4)})},
		{"mask of 2", "test_mask.npy: byte 129: value 2", datatest.With(good, npy.Entry{Key: "test_mask", Data: []uint8{0, 2, 0, 0, 0}})},
		{"mask of floats", "want bool: save it with .astype(bool)", datatest.With(good, npy.Entry{Key: "train_mask", Data: make([]float32, 5)})},
		{"ids", "ids.npy: has 1 entries, want 5", datatest.With(good, npy.Entry{Key: "ids", Data: []int64{1}})},
		{"sparse column", "x_indices.npy: byte 132: row 0: column 9 is outside [0, 9)", datatest.With(sparse, npy.Entry{Key: "x_indices", Data: []int32{0, 9, 3, 3}})},
		{"sparse values", "x_data.npy: has 3 entries, want 4", datatest.With(sparse, npy.Entry{Key: "x_data", Data: []float32{1, 2, 3}})},
		{"sparse NaN", "value 2 (column 3) is NaN", datatest.With(sparse, npy.Entry{Key: "x_data", Data: []float32{1, 2, nan, 3}})},
		{"sparse rows", "has 5 row pointers; want 6", datatest.With(sparse, npy.Entry{Key: "x_indptr", Data: []int64{0, 2, 2, 3, 4}})},
		{"huge columns", "columns; at most", datatest.With(sparse, npy.Entry{Key: "x_shape", Data: []int64{5, math.MaxInt32 - 1}})},
		{"wild columns", "dimension 9223372036854775807", datatest.With(sparse, npy.Entry{Key: "x_shape", Data: []int64{5, math.MaxInt64}})},
		{"sparse without values", `no array "x_data"`, slices.DeleteFunc(slices.Clone(sparse), func(e npy.Entry) bool { return e.Key == "x_data" })},
		{"both", "both x.npy and x_indptr.npy", append(slices.Clone(sparse), npy.Entry{Key: "x", Shape: []int{5, 1}, Data: make([]float32, 5)})},
		{"unknown keys", "[a b]", []npy.Entry{{Key: "a", Data: []bool{}}, {Key: "b", Data: []bool{}}}},
	}
	for _, c := range cases {
		path := datatest.NPZ(t, c.entries...)
		d, err := formats.Load(path, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, %v, want %q", c.name, d, err, c.want)
		}
	}
}

// TestStoreMeta: what meta.json says must agree with the arrays; what it does not say is taken from them.
func TestStoreMeta(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dense")
	if err := stores.Write(dir, datatest.Tiny(t)[0], nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, stores.MetaFile)
	for _, c := range []struct{ text, want string }{
		{`{}`, ""},
		{`{"name": "other", "vertices": 5, "more": [1]}`, ""},
		{`{"capgnn_store": 2}`, "version 2 of the store; this program reads version 1"},
		{`{"capgnn_store": 1`, "byte 18: unexpected end"},
		{``, "unexpected end"},
		{`{"vertices": 4}`, "indptr.npy: has 6 row pointers; want 5"},
		{`{"vertices": -1}`, `"vertices" is -1`},
		{`{"vertices": 1e99}`, `"vertices" is number 1e99`},
		{`{"vertices": "5"}`, `"vertices" is string, want int64`},
		{`{"edges": 6}`, "6 edges are announced, indices.npy has 5"},
		{`{"weighted": false}`, ""},
		{`{"weighted": true}`, "edge weights are announced, but weights.npy is missing"},
		{`{"features": 3}`, "3 features are announced, x has 2"},
		{`{"features": 99999999999}`, `"features" is 99999999999, outside`},
		{`{"features": 2, "sparse": true}`, "sparse is true"},
		{`{"classes": 2}`, "label 2 is outside [-1, 2)"},
		{`{"classes": 2147483646}`, "at most 65536"},
		{`{"multi_label": true}`, "multi_label is true"},
		{`{"train": 3}`, "train_mask: 3 vertices are announced, 2 are there"},
		{`{"standardized": "no"}`, `standardized is "no", want train or rows`},
		{`{"name": "../../etc"}`, "holds other characters"},
		{`{"name": "` + strings.Repeat("x", stores.MaxMeta) + `"}`, "is longer than"},
		{strings.Repeat(`{"a":`, 100000), "exceeded max depth"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := formats.Load(dir, dataset.Options{})
		if c.want == "" {
			if err != nil {
				t.Errorf("%.60s: %v", c.text, err)
			} else {
				d.Close()
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: got %v, want %q", c.text, err, c.want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d, err := formats.Load(dir, dataset.Options{})
	if err != nil || d.Name != "dense" || d.Classes != 3 {
		t.Errorf("without meta.json: %+v, %v", d, err)
	}
}

// TestDamagedStores cuts and flips every file of a store: an error that names a file of it, or a valid data set.
func TestDamagedStores(t *testing.T) {
	for _, d := range datatest.Tiny(t)[:2] {
		dir := filepath.Join(t.TempDir(), d.Name)
		if err := stores.Write(dir, d, nil); err != nil {
			t.Fatal(err)
		}
		for _, name := range datatest.Names(t, dir) {
			path := filepath.Join(dir, name)
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for n := range good {
				if good[n] == ' ' && n%8 > 0 { // of a header's padding every eighth byte is enough
					continue
				}
				if n%3 == 0 || n > len(good)-16 {
					datatest.Damaged(t, load, dir, path, good[:n], name != stores.MetaFile || n < len(good)-2)
				}
				bad := bytes.Clone(good)
				bad[n] ^= 0x91
				datatest.Damaged(t, load, dir, path, bad, false)
			}
			if err := os.WriteFile(path, good, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestHostileHeadersDoNotAllocate: a store whose header promises 2⁴⁰ vertices costs nothing.
func TestHostileHeadersDoNotAllocate(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	if err := npy.Write(&b, nil, []int64{0, 0}); err != nil {
		t.Fatal(err)
	}
	hostile := bytes.Replace(b.Bytes(), []byte("(2,), }              "), []byte("(1099511627776,), }  "), 1)
	if bytes.Equal(hostile, b.Bytes()) {
		t.Fatal("the header was not changed")
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "indptr.npy"), hostile, 0o600), stores.WriteArray(dir, npy.Entry{Key: "indices", Data: []int32{}}, nil)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := formats.Load(dir, dataset.Options{})
	runtime.ReadMemStats(&after)
	var f *dataset.FormatError
	if !errors.As(err, &f) || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("got %v", err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("allocated %d bytes", grown)
	}
}

// writeNPZ writes d as one .npz with the store's keys, deflated. The file appears only when it is complete. Equal data
// sets give equal bytes.
func writeNPZ(path string, d *dataset.Dataset) error {
	if err := d.Validate(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	entries := stores.Entries(d)
	if d.Features.Sparse() {
		shape := []int64{int64(d.Graph.Rows()), int64(d.Features.Cols)}
		entries = append(entries, npy.Entry{Key: "x_shape", Data: shape})
	}
	if d.Labels != nil {
		entries = append(entries, npy.Entry{Key: "classes", Shape: []int{}, Data: []int64{int64(d.Classes)}})
	}
	return npy.WriteArchiveFile(path, entries, npy.Archiving{Deflate: true})
}

// Wherever writing a store is stopped, nothing is left of it.
func TestWriteStopped(t *testing.T) {
	for _, d := range datatest.Tiny(t) {
		for stop := 1; ; stop++ {
			dir, calls := t.TempDir(), 0
			err := stores.Write(filepath.Join(dir, "s"), d, func(name string, done, total int64) error {
				if calls++; calls == stop {
					return context.Canceled
				}
				if done > total || total == 0 || !strings.HasSuffix(name, ".npy") {
					t.Errorf("%s: %d of %d", name, done, total)
				}
				return nil
			})
			if err == nil {
				if calls < 2 || calls != stop-1 {
					t.Errorf("%s: %d calls", d.Name, calls)
				}
				break
			}
			if left := datatest.Names(t, dir); !errors.Is(err, context.Canceled) || len(left) > 0 {
				t.Errorf("%s, stopped at %d: %v, left %v", d.Name, stop, err, left)
			}
		}
	}
}

func load(path string) (*dataset.Dataset, error) { return formats.Load(path, dataset.Options{}) }

// Of a store that is known, values that can lead nowhere are not looked through; the graph is.
func TestKnown(t *testing.T) {
	d := datatest.Tiny(t)[0]
	dir := filepath.Join(t.TempDir(), "known")
	if err := stores.Write(dir, d, nil); err != nil {
		t.Fatal(err)
	}
	x := slices.Clone(d.Features.Dense)
	x[3] = float32(math.NaN())
	if err := stores.WriteArray(dir, npy.Entry{Key: "x", Shape: []int{len(x) / d.Features.Cols, d.Features.Cols}, Data: x}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := formats.Load(dir, dataset.Options{}); err == nil || !strings.Contains(err.Error(), "features must be finite") {
		t.Errorf("not known: %v", err)
	}
	got, err := formats.Load(dir, dataset.Options{Known: true})
	if err != nil {
		t.Fatal(err)
	}
	got.Close()
	indices := slices.Clone(d.Graph.Indices)
	indices[0] = 99
	if err := stores.WriteArray(dir, npy.Entry{Key: "indices", Data: indices}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := formats.Load(dir, dataset.Options{Known: true}); err == nil || !strings.Contains(err.Error(), "outside [0, 5)") {
		t.Errorf("known, with a neighbour that is not there: %v", err)
	}
}
