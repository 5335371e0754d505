package formats

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/internal/npy"
	"capgnn/internal/published"
)

// TestHeterophilousFiles holds the reader of format E to the figures in data/README.md.
func TestHeterophilousFiles(t *testing.T) {
	cases := []struct {
		name              string
		nodes, pairs, deg int
		sumEdges          float64
		dim, nnz          int
		classes           []int  // nil: not published
		classCount        int    // as published
		split             [3]int // of every mask row; 0: sizes vary
	}{
		{"tolokers", 11758, 519000, 2138, 6127064207, 10, 61101, []int{9192, 2566}, 2, [3]int{5879, 2939, 2940}},
		{"minesweeper", 10000, 39402, 8, 393980598, 7, 10000, []int{8000, 2000}, 2, [3]int{5000, 2500, 2500}},
		{"squirrel_filtered", 2223, 46998, 693, 122677539, 2089, 32481, nil, 5, [3]int{}},
		{"chameleon_filtered", 890, 8854, 247, 8099949, 2325, 9903, nil, 5, [3]int{}},
		{"actor", 7600, 26659, 1303, 200476127, 932, 40977, nil, 5, [3]int{3648, 2432, 1520}},
	}
	for _, c := range cases {
		path := published.Path(t, "heterophilous", c.name+".npz")
		d, err := Load(path, dataset.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d.Name != c.name || d.Format != "heterophilous" || d.Splits != 10 {
			t.Errorf("%s: name %q, format %q, %d splits", c.name, d.Name, d.Format, d.Splits)
		}
		p, loops := pairs(d)
		if d.Graph.Rows() != c.nodes || p != c.pairs || loops != 0 || !d.Graph.Symmetric() || maxDegree(d) != c.deg {
			t.Errorf("%s: %d vertices, %d pairs, %d loops, degree %d", c.name, d.Graph.Rows(), p, loops, maxDegree(d))
		}
		// Both ends of a pair stand once in the neighbours of the symmetric graph.
		if got := sum(d.Graph.Indices); got != c.sumEdges {
			t.Errorf("%s: sum of neighbours %.0f, want %.0f", c.name, got, c.sumEdges)
		}
		nnz := 0
		for _, v := range d.Features.Dense {
			if v != 0 {
				nnz++
			}
		}
		if d.Features.Cols != c.dim || nnz != c.nnz || len(d.Features.Dense) != c.nodes*c.dim {
			t.Errorf("%s: %d columns, %d values, want %d, %d", c.name, d.Features.Cols, nnz, c.dim, c.nnz)
		}
		if got := classSizes(d); d.Classes != c.classCount || c.classes != nil && !slices.Equal(got, c.classes) {
			t.Errorf("%s: class sizes %v, want %v", c.name, got, c.classes)
		}
		checkRawPairs(t, path, c.pairs, c.sumEdges)
		checkMaskRows(t, path, c.nodes, c.split)
	}
}

// checkRawPairs: each pair is stored once, as first < second, so directed rows list smaller ids only.
func checkRawPairs(t *testing.T, path string, pairs int, want float64) {
	t.Helper()
	z, err := npy.OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	a, err := z.Array("edges")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := a.Int64()
	if err != nil || sum(raw) != want {
		t.Errorf("%s: sum of edges %.0f, want %.0f, %v", path, sum(raw), want, err)
	}
	directed, err1 := Load(path, dataset.Options{Edges: dataset.Directed})
	reversed, err2 := Load(path, dataset.Options{Edges: dataset.Reversed})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for i := 0; i < len(raw); i += 2 {
		if row := directed.Graph.Row(int(raw[i+1])); !slices.Contains(row, int32(raw[i])) {
			t.Fatalf("%s: directed has no edge %d → %d", path, raw[i], raw[i+1])
		}
	}
	if int(directed.Graph.Edges()) != pairs || !reversed.Graph.Equal(directed.Graph.Transpose()) {
		t.Errorf("%s: %d directed edges, want %d", path, directed.Graph.Edges(), pairs)
	}
}

// checkMaskRows: the three masks of every split are disjoint and cover all vertices; splits differ.
func checkMaskRows(t *testing.T, path string, nodes int, sizes [3]int) {
	t.Helper()
	var before []bool
	for row := range 10 {
		d, err := Load(path, dataset.Options{MaskRow: row})
		if err != nil {
			t.Fatal(err)
		}
		got := [3]int{check.CountTrue(d.Train), check.CountTrue(d.Val), check.CountTrue(d.Test)}
		if got[0]+got[1]+got[2] != nodes || sizes[0] != 0 && got != sizes {
			t.Errorf("%s: split %d has %v vertices, want %v", path, row, got, sizes)
		}
		for v := range nodes {
			if !d.Train[v] && !d.Val[v] && !d.Test[v] {
				t.Fatalf("%s: split %d: vertex %d is in no mask", path, row, v)
			}
		}
		if slices.Equal(before, d.Train) {
			t.Errorf("%s: splits %d and %d are equal", path, row-1, row)
		}
		before = d.Train
	}
	if _, err := Load(path, dataset.Options{MaskRow: 10}); err == nil || !strings.Contains(err.Error(), "has 10 splits; there is no split 10") {
		t.Errorf("%s: got %v", path, err)
	}
}

func toyPairs() []npy.Entry {
	return []npy.Entry{
		{Key: "node_features", Shape: []int{3, 2}, Data: []float32{1, 2, 3, 4, 5, 6}}, {Key: "node_labels", Data: []int64{1, 0, -1}},
		{Key: "edges", Shape: []int{2, 2}, Data: []int64{0, 1, 1, 2}},
		{Key: "train_masks", Shape: []int{2, 3}, Data: []bool{true, false, false, false, true, false}},
		{Key: "val_masks", Shape: []int{2, 3}, Data: []bool{false, true, false, true, false, false}},
		{Key: "test_masks", Shape: []int{2, 3}, Data: []bool{false, false, true, false, false, true}},
	}
}

// A file whose name says directed holds directed edges, as its authors read it.
func TestHeterophilousDirected(t *testing.T) {
	for name, want := range map[string]int64{"squirrel_directed.npz": 2, "squirrel_undirected.npz": 4, "squirrel.npz": 4} {
		b, err := os.ReadFile(datatest.NPZ(t, toyPairs()...))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Load(path, dataset.Options{})
		if err != nil || d.Graph.Edges() != want || (want == 2) != strings.Contains(strings.Join(d.Notes, "; "), "edges are read as directed") {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if d, err = Load(path, dataset.Options{Edges: dataset.Symmetric}); err != nil || d.Graph.Edges() != 4 {
			t.Errorf("%s, symmetric: %+v, %v", name, d, err)
		}
	}
}

func TestHeterophilousFaults(t *testing.T) {
	d, err := Load(datatest.NPZ(t, toyPairs()...), dataset.Options{MaskRow: 1})
	if err != nil || !slices.Equal(d.Train, []bool{false, true, false}) || !slices.Equal(d.Graph.Row(1), []int32{0, 2}) || !slices.Equal(d.Labels, []int32{1, 0, -1}) {
		t.Errorf("got %+v, %v", d, err)
	}
	for _, c := range []struct {
		want string
		e    npy.Entry
	}{
		{"edges.npy: byte 152: edge 1: vertex 3 is outside [0, 3)", npy.Entry{Key: "edges", Shape: []int{2, 2}, Data: []int64{0, 1, 1, 3}}},
		{"edge 0: vertex -1 is outside", npy.Entry{Key: "edges", Shape: []int{1, 2}, Data: []int64{-1, 1}}},
		{"edges.npy: has shape [4]", npy.Entry{Key: "edges", Data: []int64{0, 1, 1, 2}}},
		{"edges.npy: holds elements of type <f8, want 64-bit integers", npy.Entry{Key: "edges", Shape: []int{1, 2}, Data: []float64{0, 1}}},
		{"row 1, column 0 is NaN", npy.Entry{Key: "node_features", Shape: []int{3, 1}, Data: []float32{0, nan(), 1}}},
		{"node_features.npy: has shape [6], want 6 rows and 1 to 16777216 columns: save one column as x[:, None]", npy.Entry{Key: "node_features", Data: make([]float32, 6)}},
		{"labels.npy: has shape [2], want [3]", npy.Entry{Key: "node_labels", Data: []int64{0, 1}}},
		{"train_masks.npy: has shape [6], want [splits, 3]", npy.Entry{Key: "train_masks", Data: make([]bool, 6)}},
		{"val_masks.npy: has 3 splits, the mask before it has 2", npy.Entry{Key: "val_masks", Shape: []int{3, 3}, Data: make([]bool, 9)}},
		{"want bool", npy.Entry{Key: "test_masks", Shape: []int{2, 3}, Data: make([]int64, 6)}},
	} {
		_, err := Load(datatest.NPZ(t, datatest.With(toyPairs(), c.e)...), dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	for want, opt := range map[string]dataset.Options{
		"there is no split 2": {MaskRow: 2}, "split -1: splits are numbered from 0": {MaskRow: -1}, "--compact is for edge lists": {Compact: true},
	} {
		if _, err := Load(datatest.NPZ(t, toyPairs()...), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, opt := range map[string]dataset.Options{"has no numbered splits: there is no split 3": {MaskRow: 3}, "has no numbered splits: there is no split 0": {Numbered: true}} {
		if _, err := Load(published.Path(t, "cora_npz"), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// damage cuts and flips the files of a folder: an error of one line that names the folder, or a valid data set. Binary files
// that are cut must fail.
func damage(t *testing.T, files map[string][]byte) {
	t.Helper()
	dir := datatest.Put(t, files)
	for name, good := range files {
		path := filepath.Join(dir, name)
		text := strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".txt")
		for n := range good {
			if n%3 == 0 || n > len(good)-8 {
				loadDamaged(t, dir, path, good[:n], !text && n > 0)
			}
			if n%2 == 0 || len(good) < 500 {
				bad := bytes.Clone(good)
				bad[n] ^= 0x11
				loadDamaged(t, dir, path, bad, false)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedHeterophilous(t *testing.T) {
	damage(t, map[string][]byte{"toy.npz": archive(t, toyPairs())})
}

// FuzzHeterophilous loads arrays of any content with valid headers and checksums: an error, or a valid data set.
func FuzzHeterophilous(f *testing.F) {
	f.Add([]byte{0, 1, 1, 2}, []byte{1, 0, 255}, []byte{1, 0, 0}, uint8(3), uint8(1), uint8(0))
	f.Add([]byte{0, 9, 200, 2}, []byte{}, []byte{1, 2}, uint8(1), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, edges, labels, masks []byte, n, rows, row uint8) {
		var wide []int64
		for _, v := range edges[:len(edges)/2*2] {
			wide = append(wide, int64(int8(v)))
		}
		y := make([]int8, len(labels))
		for i, v := range labels {
			y[i] = int8(v)
		}
		x := make([]float32, int(n)*2)
		if len(edges) > 5 && n > 0 {
			x[0] = math.Float32frombits(uint32(edges[0])<<24 | uint32(edges[1])<<16)
		}
		cells := make([]uint8, int(rows)*int(n))
		copy(cells, masks)
		m := npy.Entry{Shape: []int{int(rows), int(n)}, Data: cells}
		all := []npy.Entry{{Key: "node_features", Shape: []int{int(n), 2}, Data: x}, {Key: "edges", Shape: []int{len(wide) / 2, 2}, Data: wide}, {Key: "node_labels", Data: y}}
		for _, key := range []string{"train_masks", "val_masks", "test_masks"} {
			m.Key = key
			all = append(all, m)
		}
		var b bytes.Buffer
		if err := npy.WriteArchive(&b, all, npy.Archiving{}); err != nil {
			t.Fatal(err)
		}
		z, err := npy.ReadArchive(bytes.NewReader(b.Bytes()), int64(b.Len()), "c.npz")
		if err != nil {
			t.Fatal(err)
		}
		d, err := loadArchive(z, dataset.Options{MaskRow: int(row), Edges: []string{dataset.Auto, dataset.Directed}[row%2]})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "c.npz: ") || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, mask := range []struct{ got []bool }{{d.Train}, {d.Val}, {d.Test}} {
			for v, in := range mask.got {
				if in != (cells[int(row)*int(n)+v] == 1) {
					t.Fatalf("mask of vertex %d is %v", v, in)
				}
			}
		}
	})
}
