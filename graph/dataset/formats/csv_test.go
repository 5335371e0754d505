package formats

import (
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/datatest"
)

// TestToyCSV reads one data set in several spellings.
func TestToyCSV(t *testing.T) {
	for name, files := range map[string]map[string][]byte{
		"text": {
			"edges.csv": []byte("src,dst\n0,1\n2,1\n"), "features.csv": []byte("a,b\n1,2\n3,4.5\n-1e1,0\n0,0\n"), "labels.csv": []byte("class\n1\n0\n-1\n2\n"),
			"train.csv": []byte("mask\n1\n0\n0\n1\n"), "val.csv": []byte("id\n1\n"), "test.csv": []byte("2\n"),
		},
		"compressed": {
			"edges.csv.gz": []byte(datatest.Gzip(t, "0\t1\n2\t1")), "features.csv.gz": []byte(datatest.Gzip(t, "1 2\n3 4.5\n-10 0\n0 0")), "labels.csv.gz": []byte(datatest.Gzip(t, "1.0\n0\nnan\n2\n")),
			"train.csv.gz": []byte(datatest.Gzip(t, "3\n0\n")), "val.csv.gz": []byte(datatest.Gzip(t, "0\n1\n0\n0\n")), "test.csv.gz": []byte(datatest.Gzip(t, "2")),
		},
		"arrays": {
			"edges.csv": []byte("0 1\r\n2 1\r\n"), "features.npy": array(t, []int{4, 2}, []float32{1, 2, 3, 4.5, -10, 0, 0, 0}), "labels.npy": array(t, nil, []int8{1, 0, -1, 2}),
			"train.npy": array(t, nil, []bool{true, false, false, true}), "val.npy": array(t, nil, []int64{1}), "test.npy": array(t, nil, []uint8{0, 0, 1, 0}),
		},
		"column": {
			"edges.csv": []byte("0 1 1\n2 1 1.0\n"), "features.npy": array(t, []int{4, 2}, []float64{1, 2, 3, 4.5, -10, 0, 0, 0}), "labels.npy": array(t, []int{4, 1}, []int64{1, 0, -1, 2}),
			"train.npy": array(t, nil, []int32{3, 0}), "val.csv": []byte("1\n"), "test.npy": array(t, nil, []int32{2}),
		},
	} {
		d, err := Load(datatest.Put(t, files), dataset.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Graph.Rows() != 4 || d.Graph.Edges() != 2 || !slices.Equal(d.Graph.Row(1), []int32{0, 2}) || d.Format != "csv" {
			t.Errorf("%s: graph %+v, format %q", name, d.Graph, d.Format)
		}
		if d.Features.Cols != 2 || !slices.Equal(d.Features.Dense, []float32{1, 2, 3, 4.5, -10, 0, 0, 0}) || !slices.Equal(d.Labels, []int32{1, 0, -1, 2}) || d.Classes != 3 {
			t.Errorf("%s: features %+v, labels %v of %d", name, d.Features, d.Labels, d.Classes)
		}
		if !slices.Equal(d.Train, []bool{true, false, false, true}) || !slices.Equal(d.Val, []bool{1: true, 3: false}) || !slices.Equal(d.Test, []bool{2: true, 3: false}) {
			t.Errorf("%s: masks %v %v %v", name, d.Train, d.Val, d.Test)
		}
		if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "edges are read as directed") || !strings.Contains(notes, "1 of 4 vertices have no edge") {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// TestCSVVariants: several labels, labels alone, edges alone and compacted.
func TestCSVVariants(t *testing.T) {
	for _, y := range map[string][]byte{"labels.csv": []byte("a,b\n0,1\n1,1\n0,0\n"), "labels.npy": array(t, []int{3, 2}, []uint8{0, 1, 1, 1, 0, 0})} {
		name := "labels.csv"
		if y[0] == 0x93 {
			name = "labels.npy"
		}
		d, err := Load(datatest.Put(t, map[string][]byte{"edges.csv": []byte("0,1"), name: y}), dataset.Options{Edges: dataset.Symmetric})
		if err != nil || !slices.Equal(d.Targets, []uint8{0, 1, 1, 1, 0, 0}) || d.Classes != 2 || d.Graph.Edges() != 2 || d.Graph.Rows() != 3 || d.Features.Present() {
			t.Errorf("got %+v, %v", d, err)
		}
	}
	d, err := Load(datatest.Put(t, map[string][]byte{"edges.csv": []byte("5,7\n"), "train.csv": []byte("7\n")}), dataset.Options{})
	if err != nil || d.Graph.Rows() != 8 || !d.Train[7] || check.CountTrue(d.Train) != 1 {
		t.Errorf("got %+v, %v", d, err)
	}
	d, err = Load(datatest.Put(t, map[string][]byte{"edges.csv": []byte("5,7\n")}), dataset.Options{Compact: true})
	if err != nil || !slices.Equal(d.IDs, []int64{5, 7}) {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestCSVFaults(t *testing.T) {
	toy := map[string][]byte{"edges.csv": []byte("0,1\n2,1\n"), "features.csv": []byte("1\n2\n3\n")}
	for _, c := range []struct{ file, want, text string }{
		{"edges.csv", "edges.csv: byte 2: line 1: vertex 3 is outside [0, 3)", "0,3\n"},
		{"labels.csv", "labels.csv: has 2 lines of labels, want 3 (vertices), as many as rows of features (if their columns", "1\n0\n"},
		{"labels.csv", "line 4: there are more lines than 3 vertices, as many as rows of features (if their columns", "1\n0\n1\n0\n"},
		{"labels.npy", "labels.npy: has shape [4], want [3], as many as rows of features", string(array(t, nil, []int64{1, 2, 3, 4}))},
		{"labels.npy", "labels.npy: has shape [2 3]", string(array(t, []int{2, 3}, make([]uint8, 6)))},
		{"labels.npy", "vertex 1, class 0: 2 is neither 0 nor 1", string(array(t, []int{3, 2}, []uint8{0, 0, 2, 0, 0, 0}))},
		{"labels.npy", "holds elements of type <f4, want 64-bit integers", string(array(t, nil, make([]float32, 3)))},
		{"features.npy", "there are both features.npy and features.csv; keep one", string(array(t, []int{3, 1}, make([]float32, 3)))},
		{"train.csv", "train.csv: number 0: vertex 3 is outside [0, 3)", "3\n"},
		{"train.csv", "number 2: vertex 0 is listed twice (a mask would be 3 numbers 0 or 1, these are 3)", "0\n2\n0\n"},
		{"train.csv", "byte 6: line 4: there are more lines than 3 vertices", "0\n1\n0\n1\n"},
		{"train.csv", "byte 0: line 1: found 0.5, want a vertex or 0 or 1", "0.5\n"},
		{"train.csv", "row 0 has more than 1 column", "0,1\n"},
		{"val.csv", "number 0: vertex -1 is outside", "-1\n"},
		{"val.npy", "val.npy: has shape [4] and type |b1, want [3]", string(array(t, nil, make([]bool, 4)))},
		{"val.npy", "val.npy: has shape [2] and type |b1, want [3]", string(array(t, nil, make([]bool, 2)))},
		{"val.npy", "val.npy: byte 136: vertex 9 is outside [0, 3)", string(array(t, nil, []int64{0, 9}))},
		{"val.npy", "val.npy: holds elements of type <f8", string(array(t, nil, []float64{0, 1, 1}))},
	} {
		files := map[string][]byte{c.file: []byte(c.text)}
		for name, b := range toy {
			if name != c.file {
				files[name] = b
			}
		}
		dir := datatest.Put(t, files)
		_, err := Load(dir, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: got %v, want %q", c.file, c.text, err, c.want)
		}
	}
	if _, err := Load(datatest.Put(t, toy), dataset.Options{Compact: true}); err == nil || !strings.Contains(err.Error(), "--compact would renumber vertices") {
		t.Errorf("got %v", err)
	}
	masked := map[string][]byte{"edges.csv": toy["edges.csv"], "train.csv": []byte("1\n")}
	if _, err := Load(datatest.Put(t, masked), dataset.Options{Compact: true}); err == nil || !strings.Contains(err.Error(), "would renumber vertices, and train.csv goes by") {
		t.Errorf("got %v", err)
	}
}

// TestVertexMask: from three vertices on, no list of vertices is a mask.
func TestVertexMask(t *testing.T) {
	fault := func(_ int, format string, args ...any) error {
		t.Errorf(format, args...)
		return nil
	}
	for n := 3; n <= 6; n++ {
		for set := range 1 << n {
			var list []int64
			mask := make([]int64, n)
			for v := range n {
				if set>>v&1 == 1 {
					list, mask[v] = append(list, int64(v)), 1
				}
			}
			slices.Reverse(list)
			a, _ := vertexMask(list, n, fault)
			b, _ := vertexMask(mask, n, fault)
			for v := range n {
				if want := set>>v&1 == 1; a[v] != want || b[v] != want {
					t.Fatalf("n %d, set %b: list gives %v, mask gives %v", n, set, a, b)
				}
			}
		}
	}
}

func TestDamagedCSV(t *testing.T) {
	damage(t, map[string][]byte{
		"edges.csv.gz": []byte(datatest.Gzip(t, "a,b\n0,1\n2,1\n")), "features.csv": []byte("1,2\n3,4\n5,6\n"), "labels.npy": array(t, nil, []int64{0, 1, 1}), "train.csv": []byte("0\n"),
	})
}
