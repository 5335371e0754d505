package formats

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/npy"
)

// Features whose squares are beyond float32 are noted, once, unless they are standardised.
func TestHugeFeatures(t *testing.T) {
	graph := []npy.Entry{{Key: "indptr", Data: []int64{0, 1, 2}}, {Key: "indices", Data: []int32{1, 0}}, {Key: "train_mask", Data: []bool{true, true}}}
	const note = "features: the square of %s is beyond float32, so that training may end in NaN: give --standardize train, or divide the column"
	text := datatest.PutText(t, map[string]string{"edges.csv": "0,1\n", "features.csv": "1,-1e30\n2,3e30\n"})
	archive := func(more ...npy.Entry) string { return datatest.NPZ(t, append(slices.Clone(graph), more...)...) }
	dense := func(x float32) string {
		return archive(npy.Entry{Key: "x", Shape: []int{2, 2}, Data: []float32{1, x, 0, 2 * x}})
	}
	for _, c := range []struct {
		name, path, want string
		opt              dataset.Options
	}{
		{"dense", dense(1e30), fmt.Sprintf(note, "1e+30"), dataset.Options{}},
		{"below zero", dense(-1e30), fmt.Sprintf(note, "-1e+30"), dataset.Options{}},
		{"large", dense(9e18), "", dataset.Options{}},
		{"standardised", dense(1e30), "", dataset.Options{Standardize: dataset.StandardizeTrain}},
		{"text", text, fmt.Sprintf(note, "-1e+30"), dataset.Options{}},
		{"sparse", archive(npy.Entry{Key: "x_indptr", Data: []int64{0, 1, 1}}, npy.Entry{Key: "x_indices", Data: []int32{0}}, npy.Entry{Key: "x_data", Data: []float32{1e25}}), fmt.Sprintf(note, "1e+25"), dataset.Options{}},
		{"weights", archive(npy.Entry{Key: "weights", Data: []float32{1e30, 1e30}}), "", dataset.Options{}},
	} {
		d, err := Load(c.path, c.opt)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []string
		for _, n := range d.Notes {
			if strings.Contains(n, "beyond float32") {
				got = append(got, n)
			}
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: notes %q, want %q", c.name, d.Notes, c.want)
		}
	}
}

// A note names the features that tell the label alone, and no others.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name     string
		vertices int
		value    func(v int) int // of the feature, where vertex v has label v%3
		want     bool
	}{
		{"the label in other words", 24, func(v int) int { return 7 - v%3 }, true},
		{"finer than the label", 24, func(v int) int { return v % 6 }, true},
		{"one vertex differs", 24, func(v int) int { return v % 3 * min(1, v-1) }, false},
		{"an id", 24, func(v int) int { return v }, false},
		{"a constant", 24, func(int) int { return 1 }, false},
		{"one class against the others", 24, func(v int) int { return v % 3 / 2 }, false},
		{"too few vertices", 18, func(v int) int { return v % 3 }, false},
	} {
		features, labels := "a,f\n", "y\n"
		for v := range c.vertices {
			features += fmt.Sprintf("%d,%d\n", v*v%5, c.value(v))
			labels += fmt.Sprintln(v % 3)
		}
		dir := datatest.Put(t, map[string][]byte{"edges.csv": []byte("0,1\n"), "features.csv": []byte(features), "labels.csv": []byte(labels)})
		d, err := Load(dir, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(d.Notes, "\n")
		if strings.Contains(notes, "to determine the label") != c.want || c.want && !strings.Contains(notes, `features: column "f" is alone enough to determine`) {
			t.Errorf("%s: notes %s", c.name, notes)
		}
	}
}

// What is doubtful about the arrays of an .npz with a store's keys is noted, and what is not read is named.
func TestArrayNotes(t *testing.T) {
	graph := []npy.Entry{{Key: "indptr", Data: []int64{0, 1, 2, 2}}, {Key: "indices", Data: []int32{1, 0}}}
	for _, c := range []struct {
		name string
		more npy.Entry
		want string // a note; "": none
	}{
		{"labels", npy.Entry{Key: "y", Data: []int64{0, 1, 1}}, ""},
		{"wrapped labels", npy.Entry{Key: "y", Data: []int64{0, 5, 5}}, `labels: no vertex has class "1", "2", "3", "4"`},
		{"one class each", npy.Entry{Key: "y", Shape: []int{3, 2}, Data: []uint8{0, 1, 1, 0, 0, 1}}, "labels: every row has exactly one 1"},
		{"several labels", npy.Entry{Key: "y", Shape: []int{3, 2}, Data: []uint8{0, 1, 1, 1, 0, 1}}, ""},
		{"ids", npy.Entry{Key: "ids", Data: []int64{7, 8, 9}}, ""},
		{"ids twice", npy.Entry{Key: "ids", Data: []int64{7, 8, 7}}, "ids: vertices with the id of another one: 1"},
		{"a split", npy.Entry{Key: "train_idx", Data: []int64{1}}, ""},
		{"data", npy.Entry{Key: "data", Data: []int64{1, 2}}, "data is read as weights of edges (--ignore-weights leaves them out)"},
		{"ones", npy.Entry{Key: "data", Data: []float64{1, 1}}, ""},
		{"uint8", npy.Entry{Key: "y", Data: []uint8{0, 1, 255}}, "labels: 255 is read as a class; if it is -1, no label, which is 255 as uint8"},
		{"ids of text", npy.Entry{Key: "ids", Data: []string{"a", "b", "a"}}, "ids: vertices with the id of another one: 1"},
	} {
		d, err := Load(datatest.NPZ(t, append(slices.Clone(graph), c.more)...), dataset.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, c.want) || c.want == "" && notes != "" {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.want)
		}
	}
}

// What is doubtful about labels and ids is noted in every format, and a column that is there twice is no column to choose from.
func TestDoubtsOfFolders(t *testing.T) {
	dir := datatest.PutText(t, map[string]string{"edges.csv": "from,to\n0,1\n1,2\n", "labels.csv": "a,b\n1,0\n0,1\n1,0\n", "ids.csv": "id\nx\ny\nx\n"})
	d, err := Load(dir, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(d.Notes, "\n")
	for _, want := range []string{"labels: every row has exactly one 1", "ids: vertices with the id of another one: 1"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
	dir = datatest.PutText(t, map[string]string{"meta.yaml": "dataset_name: x\nedge_data:\n- file_name: e.csv\nnode_data:\n- file_name: n.csv\n",
		"e.csv": "src_id,dst_id\n0,1\n1,0\n", "n.csv": "node_id,feat,feat\n0,1,5\n1,1,6\n"})
	if _, err := Load(dir, dataset.Options{}); err == nil || !strings.Contains(err.Error(), `n.csv: line 1: columns 2 and 3 are both called "feat": rename one`) {
		t.Errorf("got %v", err)
	}
}

// Columns of one name are noted in every format that has names.
func TestSameColumns(t *testing.T) {
	const want = `features: columns 1 and 3 are both called "f": predict tells columns apart by their names`
	d := datatest.Tiny(t)[0]
	d.Features = dataset.Features{Cols: 3, Dense: make([]float32, 15)}
	d.ColumnNames = []string{"f", "g", "f"}
	store := filepath.Join(t.TempDir(), "store")
	if err := stores.Write(store, d, nil); err != nil {
		t.Fatal(err)
	}
	archive := datatest.NPZ(t, npy.Entry{Key: "indptr", Data: []int64{0, 1}}, npy.Entry{Key: "indices", Data: []int32{0}},
		npy.Entry{Key: "x", Shape: []int{1, 3}, Data: make([]float32, 3)}, npy.Entry{Key: "attr_names", Data: d.ColumnNames})
	for _, path := range []string{store, archive} {
		if got, err := Load(path, dataset.Options{}); err != nil || !slices.Contains(got.Notes, want) {
			t.Errorf("%s: got %+v, %v", path, got, err)
		}
	}
	if got, err := Load(store, dataset.Options{Features: dataset.FeaturesDegree}); err != nil || slices.Contains(got.Notes, want) {
		t.Errorf("made features: got %+v, %v", got, err)
	}
}
