package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/internal/npy"
)

// putSets writes four vertices with labels 0 1 0 −1 into a folder: as a CSV folder, a store, an .npz and a
// heterophilous-graphs .npz. Sets are letters by vertex; "" absent.
func putSets(t *testing.T, train, val, test string) (paths map[string]string) {
	dir := t.TempDir()
	csv := map[string]string{"edges.csv": "0,1\n1,2\n2,3\n", "features.csv": "1\n2\n3\n4\n", "labels.csv": "0\n1\n0\n-1\n"}
	store := []npy.Entry{{Key: "indptr", Data: []int64{0, 0, 1, 2, 3}}, {Key: "indices", Data: []int32{0, 1, 2}}, {Key: "x", Shape: []int{4, 1}, Data: []float32{1, 2, 3, 4}}, {Key: "y", Data: []int64{0, 1, 0, -1}}}
	rows := []npy.Entry{{Key: "edges", Shape: []int{1, 2}, Data: []int64{0, 1}}, {Key: "node_features", Shape: []int{4, 1}, Data: []float32{1, 2, 3, 4}}, {Key: "node_labels", Data: []int64{0, 1, 0, -1}}}
	for key, text := range map[string]string{"train": train, "val": val, "test": test} {
		if text == "" {
			continue
		}
		mask := make([]bool, 4)
		for v, c := range text {
			if mask[v] = c != '.'; mask[v] {
				csv[key+".csv"] += fmt.Sprintln(v)
			}
		}
		store = append(store, npy.Entry{Key: key + "_mask", Data: mask})
		rows = append(rows, npy.Entry{Key: key + "_masks", Shape: []int{1, 4}, Data: mask})
	}
	paths = map[string]string{"csv": filepath.Join(dir, "csv"), "store": filepath.Join(dir, "store"), "npz": datatest.NPZ(t, store...), "heterophilous": datatest.NPZ(t, rows...)}
	for name, text := range csv {
		write(t, filepath.Join(paths["csv"], name), func(path string) error { return os.WriteFile(path, []byte(text), 0o600) })
	}
	for _, e := range store {
		write(t, filepath.Join(paths["store"], e.Key+".npy"), func(path string) error { return npy.WriteFile(path, e.Shape, e.Data) })
	}
	return paths
}

func write(t *testing.T, path string, to func(path string) error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := to(path); err != nil {
		t.Fatal(err)
	}
}

// Sets mean the same in all formats: what is given for validation and test never trains, and what overlaps is refused.
func TestSetsOfAllFormats(t *testing.T) {
	for name, path := range putSets(t, "", ".v..", "") {
		d, err := Load(path, dataset.Options{Draw: &dataset.Draw{Shares: dataset.DefaultFractions}})
		if err != nil || !slices.Equal(d.Train, []bool{true, false, true, false}) || !slices.Equal(d.Val, []bool{false, true, false, false}) || d.Test != nil ||
			!strings.Contains(strings.Join(d.Notes, "\n"), "training takes the labelled vertices outside the validation set (2)") {
			t.Errorf("%s: %+v, %v", name, d, err)
			continue
		}
		d.Close()
	}
	for name, path := range putSets(t, "tt..", ".v..", "..e.") {
		const want = ": vertices are in two sets: 1 in training and validation; the first is vertex 1: keep"
		if _, err := Load(path, dataset.Options{}); err == nil || !strings.Contains(err.Error(), path+want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		d, err := Load(path, dataset.Options{AllowOverlap: true})
		if err != nil || !d.Train[1] || !d.Val[1] || !strings.Contains(strings.Join(d.Notes, "\n"), "1 in training and validation") {
			t.Errorf("%s: %+v, %v", name, d, err)
			continue
		}
		d.Close()
	}
}
