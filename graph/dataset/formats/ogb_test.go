package formats

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/internal/textfile"
)

// toyOGB returns the files of a small OGB folder of 4 vertices and 4 edges, one of them twice.
func toyOGB(t testing.TB, replaced map[string]string) map[string][]byte {
	text := map[string]string{
		"raw/edge": "0,1\n2,1\n0,1\n3,3\n", "raw/node-feat": "0.5,-1e-3\n1.0,2\n0,0\n3.4028235e38,-7\n", "raw/node-label": "2\nnan\n0.0\n1\n",
		"raw/num-node-list": "4\n", "raw/num-edge-list": "4\n",
		"split/time/train": "0\n2\n", "split/time/valid": "3\n", "split/time/test": "",
	}
	for name, s := range replaced {
		text[name] = s
	}
	files := map[string][]byte{}
	for name, s := range text {
		if s != "absent" {
			files[name+".csv.gz"] = []byte(datatest.Gzip(t, s))
		}
	}
	return files
}

func TestToyOGB(t *testing.T) {
	for edges, want := range map[string][][]int32{
		"": {{1}, {0, 2}, {1}, {3}}, dataset.Directed: {{}, {0, 2}, {}, {3}}, dataset.Reversed: {{1}, {}, {1}, {3}},
	} {
		d, err := Load(datatest.Put(t, toyOGB(t, nil)), dataset.Options{Edges: edges})
		if err != nil {
			t.Fatal(err)
		}
		for v, row := range want {
			if !slices.Equal(d.Graph.Row(v), row) {
				t.Errorf("%q: row %d is %v, want %v", edges, v, d.Graph.Row(v), row)
			}
		}
		if !slices.Equal(d.Features.Dense, []float32{0.5, -1e-3, 1, 2, 0, 0, math.MaxFloat32, -7}) || d.Features.Cols != 2 {
			t.Errorf("features %v", d.Features)
		}
		if !slices.Equal(d.Labels, []int32{2, -1, 0, 1}) || d.Classes != 3 || d.Format != "ogb" {
			t.Errorf("labels %v of %d, %q", d.Labels, d.Classes, d.Format)
		}
		if !slices.Equal(d.Train, []bool{true, false, true, false}) || !slices.Equal(d.Val, []bool{3: true}) || !slices.Equal(d.Test, make([]bool, 4)) {
			t.Errorf("masks %v %v %v", d.Train, d.Val, d.Test)
		}
		if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, noteMerged(1)) || !strings.Contains(notes, "vertices without a label: 1") {
			t.Errorf("notes %q", notes)
		}
	}
}

// TestOGBVariants: several labels, no features, features of edges, text that is not compressed, no split.
func TestOGBVariants(t *testing.T) {
	files := toyOGB(t, map[string]string{"raw/node-label": "0,1,1\n1,0,0\n0,0,0\n1,1,1\n", "raw/node-feat": "absent", "raw/edge-feat": "1,2\n"})
	for name, b := range map[string][]byte{"split/time/train.csv.gz": nil, "split/time/valid.csv.gz": nil, "split/time/test.csv.gz": nil, "raw/edge.csv.gz": nil, "raw/edge.csv": []byte("0\t1\n2 1\n0,1\n3, 3")} {
		files[name] = b
	}
	d, err := Load(datatest.Put(t, files), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Targets, []uint8{0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1}) || d.Classes != 3 || d.Labels != nil || d.Features.Present() || d.Train != nil {
		t.Errorf("got %+v", d)
	}
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "features of edges (edge-feat.csv.gz) are not used") {
		t.Errorf("notes %q", notes)
	}
}

func TestOGBFaults(t *testing.T) {
	for _, c := range []struct{ file, want, text string }{
		{"raw/edge", "byte 6: line 2: vertex 4 is outside [0, 4)", "0,1\n2,4\n"},
		{"raw/edge", "has 3 edges, num-edge-list says 4", "0,1\n2,1\n3,3\n"},
		{"raw/edge", "is no complete OGB folder: edge.csv.gz is missing", "absent"},
		{"raw/num-edge-list", "is no complete OGB folder: num-edge-list.csv.gz is missing", "absent"},
		{"raw/num-edge-list", "has 4 edges, num-edge-list says 5", "5"},
		{"raw/num-node-list", "line 2: holds several graphs", "4\n5\n"},
		{"raw/num-node-list", "is empty, want one number", ""},
		{"raw/num-node-list", "line 1: found -4, want a count", "-4"},
		{"raw/num-node-list", "row 0 has more than 1 column", "4,4"},
		{"raw/num-node-list", "0 vertices, want 1 to 2147483646", "0"},
		{"raw/num-node-list", "4000000000 vertices, want 1 to 2147483646", "4000000000"},
		{"raw/num-node-list", "has 4 edges for 2000000000 vertices; at most 1048896 vertices are handled", "2000000000"},
		{"raw/num-node-list", "has 4 rows of features, want 5 (vertices)", "5"},
		{"raw/node-feat", "byte 8: line 5: there are more rows than 4 vertices", "1\n1\n1\n1\n1"},
		{"raw/node-feat", "byte 4: line 2: the value in column 1 is missing (1 missing value in 1 row); features must be finite", "1,2\nnan,1\n1,1\n1,1"},
		{"raw/node-feat", `byte 2: line 1: found "inf", want a number`, "1,inf\n"},
		{"raw/node-feat", `value 1e40 does not fit float32`, "1,1e40\n"},
		{"raw/node-feat", `found "1_0", want a number`, "1_0\n"},
		{"raw/node-feat", `found "--1", want a number`, "--1\n"},
		{"raw/node-feat", "line 2: row 1 has 1 columns, those before it have 2", "1,2\n1\n"},
		{"raw/node-feat", "byte 8: line 2: row 1 has more than 2 columns", "1,2\n1,2,3\n"},
		{"raw/node-feat", "byte 2: line 1: the value in column 2 is missing (1 missing value in 1 row)", "1,\n"},
		{"raw/node-feat", "has 0 rows of features", ""},
		{"raw/node-label", "byte 2: line 2: label 0.5 is no class", "1\n0.5\n"},
		{"raw/node-label", "byte 2: line 2: label -2 is no class", "1\n-2\n"},
		{"raw/node-label", "line 2: label 65536 is outside [-1, 65536)", "1\n65536\n1\n1\n"},
		{"raw/node-label", "byte 6: line 2: class 1: 2 is neither 0 nor 1", "1,0\n1,2\n"},
		{"raw/node-label", "class 0: 3 is neither 0 nor 1", "3,0\n1,2\n"},
		{"raw/node-label", "class 1: NaN is neither 0 nor 1", "1,nan\n1,2\n"},
		{"raw/node-label", "has 3 lines of labels, want 4 (vertices)", "1\n1\n1\n"},
		{"split/time/train", "byte 2: line 2: vertex 4 is outside [0, 4)", "1\n4\n"},
		{"split/time/train", "byte 2: line 2: vertex 1 is listed twice", "1\n1\n"},
		{"split/time/test", "vertices are in two sets: 1 in validation and test; the first is vertex 3: keep", "3\n"},
		{"split/time/test", "found '2', want one vertex to a line", "1,2\n"},
		{"split/time/valid", "valid.csv.gz is missing", "absent"},
		{"split/time/train", `split: holds "time", and no folder with train.csv.gz, valid.csv.gz and test.csv.gz, which a split is`, "absent"},
		{"split/other/train", "holds several splits (other time); keep one", "1\n"},
	} {
		dir := datatest.Put(t, toyOGB(t, map[string]string{c.file: c.text}))
		_, err := Load(dir, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: got %v, want %q", c.file, c.text, err, c.want)
		}
	}
	both := toyOGB(t, nil)
	both["raw/edge.csv"] = []byte("0,1\n")
	if _, err := Load(datatest.Put(t, both), dataset.Options{}); err == nil || !strings.Contains(err.Error(), "there are both edge.csv.gz and edge.csv; keep one") {
		t.Errorf("got %v", err)
	}
	other := map[string][]byte{"raw/edge_index_dict.npz": {}, "split/time/train.csv.gz": {}}
	if _, err := Load(datatest.Put(t, other), dataset.Options{}); err == nil || !strings.Contains(err.Error(), "an OGB folder of another kind") {
		t.Errorf("got %v", err)
	}
}

func TestDamagedOGB(t *testing.T) {
	damage(t, toyOGB(t, map[string]string{"split/time/test": "1\n"}))
}

// TestOGBAllocation: a count of two billion vertices, or a first row of many columns, costs nothing by itself.
func TestOGBAllocation(t *testing.T) {
	for _, files := range []map[string]string{
		{"raw/num-node-list": "2000000000"},
		{"raw/num-node-list": "1000000", "raw/node-feat": strings.Repeat("0,", 10000) + "0\n" + "1"},
	} {
		dir := datatest.Put(t, toyOGB(t, files))
		var err error
		// Counts of 2^20 vertices are believed: 8 MiB of row pointers, three times, and 4 MiB of room for features.
		if got := allocated(func() { _, err = Load(dir, dataset.Options{}) }); err == nil || got > 64<<20 {
			t.Errorf("%.60v: %d bytes, %v", files, got, err)
		}
	}
}

// FuzzOGB loads folders of any text: an error of one line with the folder, or a valid data set.
func FuzzOGB(f *testing.F) {
	f.Add("0,1\n2,1\n", "1,2\n3,4\n5,6\n", "1\nnan\n0\n", "0\n2\n", "1\n", uint16(3), uint16(2))
	f.Add("0 1 1\n", "1e38\n0.1", "1,0\n0,1\n", "1", "", uint16(2), uint16(1))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, edge, feat, label, train, valid string, n, m uint16) {
		dir := filepath.Join(root, fmt.Sprint(os.Getpid()))
		for name, text := range map[string]string{
			"raw/edge": edge, "raw/node-feat": feat, "raw/node-label": label, "raw/num-node-list": fmt.Sprint(n), "raw/num-edge-list": fmt.Sprint(m),
			"split/a/train": train, "split/a/valid": valid, "split/a/test": "",
		} {
			path := filepath.Join(dir, name+".csv")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Load(dir, dataset.Options{})
		if err != nil {
			if !strings.HasPrefix(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			return
		}
		if err := d.Validate(); err != nil || d.Graph.Rows() != int(n) || !d.Graph.Symmetric() {
			t.Fatal(err, d.Graph.Rows(), n)
		}
	})
}

// FuzzTextColumns reads any bytes as features, labels and a mask: what is accepted has the length it says and only finite
// or known values.
func FuzzTextColumns(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n3,4\n", "1\nnan\n0.0\n", "0,1,1\n1,0,0", "1e5\n2\n", "0\n1\n1\n", "id;x\r\n2;True\r\n0;1e39\r\n1;\r\n", "kind\rcat\r\rdog\r", ",0\n0,1700000001\n1,1700000003\n2,1700000007", "\"1\" 2\n\"3,5\" 4\n"} {
		f.Add([]byte(s), int8(3))
		f.Add([]byte(datatest.Gzip(f, s)), int8(-1))
	}
	f.Fuzz(func(t *testing.T, b []byte, vertices int8) {
		n := max(int(vertices), -1)
		read := func(parse func(x *textfile.Reader) error) bool {
			x, err := textfile.NewReader("c.csv", bytes.NewReader(b), int64(len(b)))
			if err == nil {
				err = parse(x)
			}
			if err != nil && (!strings.HasPrefix(err.Error(), "c.csv: ") || strings.Contains(err.Error(), "\n")) {
				t.Fatalf("no place, or more than one line: %q", err)
			}
			return err == nil
		}
		var d dataset.Dataset
		rows := 0
		if read(func(x *textfile.Reader) (err error) { rows, err = readTextFeatures(&d, x, true, n); return err }) {
			if err := topology(rows, dataset.Dataset{Features: d.Features}).Validate(); err != nil || n >= 0 && rows != n {
				t.Fatal(rows, n, err)
			}
		}
		if read(func(x *textfile.Reader) (err error) { rows, err = readTextLabels(&d, x, true, n); return err }) {
			if err := topology(rows, dataset.Dataset{Labels: d.Labels, Targets: d.Targets, Classes: d.Classes}).Validate(); err != nil || n >= 0 && rows != n {
				t.Fatal(rows, n, err)
			}
		}
		var mask []bool
		if n >= 0 && read(func(x *textfile.Reader) error {
			r, err := rowsOf(x, true, false)
			if err == nil {
				mask, err = readTextMask(&d, r, "mask", n)
			}
			return err
		}) && len(mask) != n {
			t.Fatalf("mask of %d, want %d", len(mask), n)
		}
	})
}

// topology gives a data set a graph of n vertices and no edges.
func topology(n int, d dataset.Dataset) *dataset.Dataset {
	d.Graph = &graph.CSR{Indptr: make([]int64, n+1), Cols: n}
	return &d
}
