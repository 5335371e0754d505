package formats

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/internal/npy"
)

// Files of a folder that are not read are listed, with what they look like; those for people are not.
func TestUnread(t *testing.T) {
	edges := "from,to\n0,1\n1,2\n"
	for name, tc := range map[string]struct {
		files  map[string]string
		unread []dataset.Unread
	}{
		"all read": {map[string]string{"edges.csv": edges, "features.csv": "1\n2\n3\n", "labels.csv.gz": datatest.Gzip(t, "0\n1\n1\n"), "train.csv": "0\n", "valid.csv": "1\n", "test.npy": "",
			"ids.csv": "id\n", "classes.csv": "c\n", "README.txt": "x", "LICENSE": "x", "picture.png": "x", ".hidden.csv": "x"}, nil},
		"csv": {map[string]string{"edges.csv": edges, "feats.json": "{}", "target.csv": "id,t\n", "train_mask.npy": "", "other.csv": "x", "edge_features.csv": "x"},
			[]dataset.Unread{{Name: "edge_features.csv", Looks: dataset.LooksData}, {Name: "feats.json", Looks: dataset.LooksFeatures}, {Name: "other.csv", Looks: dataset.LooksData}, {Name: "target.csv", Looks: dataset.LooksLabels}, {Name: "train_mask.npy", Looks: dataset.LooksSplit}}},
		"edge list": {map[string]string{"graph.txt": edges, "features.npy": "", "y.npy": ""}, []dataset.Unread{{Name: "features.npy", Looks: dataset.LooksFeatures}, {Name: "y.npy", Looks: dataset.LooksLabels}}},
	} {
		if name == "all read" {
			delete(tc.files, "test.npy")
		}
		dir := datatest.PutText(t, tc.files)
		d, err := Load(dir, dataset.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(d.Unread, tc.unread) || (len(tc.unread) > 0) != slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "; not read: ") }) {
			t.Errorf("%s: got %v, notes %q, want %v", name, d.Unread, d.Notes, tc.unread)
		}
		if name == "all read" && (!slices.Contains(d.Files, "valid.csv") || d.Val == nil) {
			t.Errorf("read %v, validation %v", d.Files, d.Val)
		}
		for _, u := range d.Unread {
			if u.Looks != dataset.LooksData && !strings.Contains(Wanted(d, u.Looks), "edges.csv") {
				t.Errorf("%s: %s", u.Name, Wanted(d, u.Looks))
			}
		}
	}
}

// smallBenchmark is a gnn-benchmark archive whose names join a matrix and its arrays by a character.
func smallBenchmark(adj, attr string) []npy.Entry {
	return []npy.Entry{
		{Key: adj + "indptr", Data: []int32{0, 1, 2}}, {Key: adj + "indices", Data: []int32{1, 0}}, {Key: adj + "data", Data: []float32{1, 1}}, {Key: adj + "shape", Data: []int64{2, 2}},
		{Key: attr + "indptr", Data: []int32{0, 1, 2}}, {Key: attr + "indices", Data: []int32{0, 1}}, {Key: attr + "data", Data: []float32{1, 2}}, {Key: attr + "shape", Data: []int64{2, 2}},
		{Key: "labels", Data: []int8{1, 0}},
	}
}

// Arrays of an archive are read, or one note names them, whatever format it has; names that published files hold are left out in silence.
func TestUnreadMembers(t *testing.T) {
	store := []npy.Entry{{Key: "indptr", Data: []int64{0, 1, 2}}, {Key: "indices", Data: []int32{1, 0}}}
	mask := npy.Entry{Key: "train_mask", Data: []bool{true, false}}
	masks := npy.Entry{Key: "train_masks", Shape: []int{1, 2}, Data: []bool{true, false}}
	pairs := []npy.Entry{{Key: "node_features", Shape: []int{2, 1}, Data: []float32{1, 2}}, {Key: "edges", Shape: []int{1, 2}, Data: []int64{0, 1}}}
	var published []npy.Entry
	for _, name := range []string{"node_names", "attr_names", "class_names", "metadata"} {
		published = append(published, npy.Entry{Key: name, Data: []string{"a", "b"}})
	}
	bench := smallBenchmark("adj_", "attr_")
	weights := npy.Entry{Key: "edge_weight", Data: []float32{0.5, 2}}
	for name, c := range map[string]struct {
		entries []npy.Entry
		unread  string // names and what they look like
		opt     dataset.Options
		train   bool
	}{
		"gnn-benchmark":    {entries: append(slices.Clone(bench), published...)},
		"APPNP":            {entries: append(smallBenchmark("adj_matrix.", "attr_matrix."), published...)},
		"dense":            {entries: append(slices.Clone(bench[:4]), npy.Entry{Key: "attr_matrix", Shape: []int{2, 2}, Data: []float32{1, 0, 0, 2}})},
		"benchmark, mask":  {entries: append(slices.Clone(bench), mask), train: true},
		"benchmark, masks": {entries: append(slices.Clone(bench), masks), train: true},
		"benchmark, others": {entries: append(slices.Clone(bench), npy.Entry{Key: "train_idx", Data: []int64{0}}, weights, npy.Entry{Key: "ids", Data: []int64{7, 8}}, npy.Entry{Key: "readme", Data: []int64{7}}),
			train: true, unread: "edge_weight (edge weights?), ids, readme"},
		"weights left out":       {entries: append(slices.Clone(bench), weights), opt: dataset.Options{IgnoreWeights: true}},
		"own weights left out":   {entries: datatest.With(bench, npy.Entry{Key: "adj_data", Data: []float32{1, 2}}), opt: dataset.Options{IgnoreWeights: true}},
		"heterophilous, mask":    {entries: append(slices.Clone(pairs), mask), train: true},
		"heterophilous, masks":   {entries: append(slices.Clone(pairs), mask, masks), train: true, unread: "train_mask (split?)"},
		"heterophilous, others":  {entries: append(slices.Clone(pairs), npy.Entry{Key: "y", Data: []int64{0, 1}}, npy.Entry{Key: "split", Data: []int64{0}}), unread: "y (labels?), split (split?)"},
		"store":                  {entries: append(slices.Clone(store), mask, npy.Entry{Key: "tests", Data: []int64{0}}, npy.Entry{Key: "_is_array", Data: []bool{true}}), train: true, unread: "tests (split?)"},
		"store, weights":         {entries: append(slices.Clone(store), weights, npy.Entry{Key: "weight", Data: []float32{3, 4}}), unread: "weight (edge weights?)"},
		"SciPy matrix with more": {entries: append(slices.Clone(store), npy.Entry{Key: "shape", Data: []int64{2, 2}}, npy.Entry{Key: "format", Data: []string{"csr"}}, npy.Entry{Key: "y", Data: []int64{0, 1}}), unread: "shape, format"},
	} {
		path := datatest.NPZ(t, c.entries...)
		for _, at := range []string{path, filepath.Dir(path)} {
			d, err := Load(at, c.opt)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			var unread []string
			for _, n := range d.Notes {
				if _, list, found := strings.Cut(n, "; not read: "); found {
					unread = append(unread, list)
				}
			}
			if strings.Join(unread, "; ") != c.unread || (len(d.Unread) > 0) != (c.unread != "") || (d.Train != nil) != c.train {
				t.Errorf("%s: notes %q, unread %v, training set %v, want %q", name, d.Notes, d.Unread, d.Train, c.unread)
			}
			if strings.Contains(name, "benchmark") != (d.Format == "gnn-benchmark") && !slices.Contains([]string{"APPNP", "dense", "weights left out", "own weights left out"}, name) {
				t.Errorf("%s: read as %s", name, d.Format)
			}
			if d.Format == "gnn-benchmark" && d.Features.Cols != 2 {
				t.Errorf("%s: %d features", name, d.Features.Cols)
			}
		}
	}
}

// data beside indptr and indices is the weights of edges; a note asks for the direction where it counts.
func TestMatrixWeights(t *testing.T) {
	for _, c := range []struct {
		indices []int32
		data    []float64
		opt     dataset.Options
		weight  float32 // of the edge into vertex 1
		notes   string
	}{
		{[]int32{1, 0}, []float64{1, 1}, dataset.Options{}, 1, ""},
		{[]int32{1, 0}, []float64{3, 0.5}, dataset.Options{}, 0.5, "data: values of type <f8 were converted to float32; data is read as weights of edges (--ignore-weights leaves them out)"},
		{[]int32{1, 0}, []float64{3, 0.5}, dataset.Options{IgnoreWeights: true}, 1, ""},
		{[]int32{0, 0}, []float64{1, 1}, dataset.Options{}, 1, "row v of indptr and indices lists where edges into v come from; if it is a matrix whose entry (i, j) is the edge i → j, give --edges reversed"},
	} {
		d, err := Load(datatest.NPZ(t, npy.Entry{Key: "indptr", Data: []int64{0, 1, 2}}, npy.Entry{Key: "indices", Data: c.indices}, npy.Entry{Key: "data", Data: c.data}), c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(d.Notes, "; "); got != c.notes || d.Graph.Weight(0, 1) != c.weight || (d.Graph.Weights != nil) != (c.weight != 1) {
			t.Errorf("%v: notes %q, weight %g", c, got, d.Graph.Weight(0, 1))
		}
	}
	pair := []npy.Entry{{Key: "indptr", Data: []int64{0, 1, 2}}, {Key: "indices", Data: []int32{1, 0}}, {Key: "weights", Data: []float32{3, 0.1}}}
	for _, c := range []struct {
		data any
		opt  dataset.Options
		want string
	}{
		{[]float64{3, 0.1}, dataset.Options{}, ""},
		{[]float32{3, 0.5}, dataset.Options{}, "data.npy: byte 132: edge 1 has the weight 0.5, and 0.1 in weights.npy; keep one of these arrays, or ignore both (--ignore-weights)"},
		{[]float32{3, nan()}, dataset.Options{}, "edge 1 has the weight NaN, and 0.1"},
		{[]float32{3}, dataset.Options{}, "data.npy: has shape [1], want a weight for each of 2 edges"},
		{[]float32{3, 0.5}, dataset.Options{IgnoreWeights: true}, ""},
	} {
		d, err := Load(datatest.NPZ(t, append(slices.Clone(pair), npy.Entry{Key: "data", Data: c.data})...), c.opt)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && d.Unread != nil {
			t.Errorf("%v: got %v, want %q", c, err, c.want)
		}
	}
	_, err := Load(datatest.NPZ(t, npy.Entry{Key: "indptr", Data: []int64{0, 1}}, npy.Entry{Key: "indices", Data: []int32{0}}, npy.Entry{Key: "data", Data: []float64{1, 2}}), dataset.Options{})
	if err == nil || !strings.Contains(err.Error(), "data.npy: has shape [2], want a weight for each of 1 edges") {
		t.Errorf("got %v", err)
	}
}
