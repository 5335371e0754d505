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
	"capgnn/internal/npy"
)

// bytewise returns the bytes as small signed numbers.
func bytewise(b []byte) []int8 {
	out := make([]int8, len(b))
	for i, v := range b {
		out[i] = int8(v)
	}
	return out
}

// accepted reports whether a data set was read; if not, the error must be one line that begins with the path.
func accepted(t *testing.T, path string, d *dataset.Dataset, err error) bool {
	t.Helper()
	if err != nil {
		if !strings.HasPrefix(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("no place, or more than one line: %q", err)
		}
		return false
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return true
}

// FuzzBenchmark loads gnn-benchmark archives of any content with valid headers and checksums: an error, or a data set with
// the edges and features of the arrays.
func FuzzBenchmark(f *testing.F) {
	f.Add([]byte{0, 1, 3}, []byte{1, 0, 1}, []byte{0, 1, 1}, []byte{2}, []byte{1, 0}, uint8(2), uint8(3), uint8(0))
	f.Add([]byte{0, 2, 2}, []byte{1, 1}, []byte{0, 2, 2}, []byte{2, 2}, []byte{255, 0}, uint8(2), uint8(3), uint8(1))
	f.Add([]byte{0, 200}, []byte{}, []byte{}, []byte{}, []byte{0}, uint8(200), uint8(0), uint8(6))
	f.Add([]byte{0, 1, 3}, []byte{1, 0, 1}, []byte{0, 1, 1}, []byte{2}, []byte{1, 0}, uint8(2), uint8(3), uint8(34))
	f.Add([]byte{0, 1, 3}, []byte{1, 0, 1}, []byte{0, 1, 1}, []byte{2}, []byte{1, 0}, uint8(2), uint8(3), uint8(129))
	f.Fuzz(func(t *testing.T, indptr, indices, xptr, columns, labels []byte, n, cols, how uint8) {
		weights := make([]float32, len(indices))
		for i := range weights {
			weights[i] = 1
		}
		values := make([]float64, len(columns))
		for i, c := range columns {
			values[i] = float64(int8(c)) / 3
		}
		all := []npy.Entry{
			{Key: "adj_indptr", Data: bytewise(indptr)}, {Key: "adj_indices", Data: bytewise(indices)}, {Key: "adj_shape", Data: []int64{int64(n), int64(n)}},
			{Key: "labels", Data: bytewise(labels)}, {Key: "adj_data", Data: weights}, {Key: "attr_indptr", Data: bytewise(xptr)}, {Key: "attr_indices", Data: bytewise(columns)},
			{Key: "attr_shape", Data: []int64{int64(n), int64(cols)}}, {Key: "attr_data", Data: values},
		}
		if how&4 != 0 {
			all = all[:4+int(how>>3)%5]
		}
		if how&128 != 0 {
			for i := range all {
				all[i].Key = strings.NewReplacer("adj_", "adj_matrix.", "attr_", "attr_matrix.").Replace(all[i].Key)
			}
		}
		if how&32 != 0 { // names and sets beside
			var names []string
			for _, y := range labels {
				names = append(names, string(rune(y)))
			}
			more := []npy.Entry{{Key: "node_names", Data: names}, {Key: "attr_names", Data: names}, {Key: "class_names", Data: names[:len(names)/2]},
				{Key: "valid_idx", Data: bytewise(labels)}, {Key: "dev_mask", Data: labels}}
			all = append(all, more[:3+int(how&3)%3]...)
		}
		b := archive(t, all)
		z, err := npy.ReadArchive(bytes.NewReader(b), int64(len(b)), "c.npz")
		if err != nil {
			t.Fatal(err)
		}
		d, err := loadArchive(z, dataset.Options{Edges: []string{dataset.Auto, dataset.Directed, dataset.Reversed, dataset.Symmetric}[how%4]})
		if !accepted(t, "c.npz: ", d, err) {
			return
		}
		for v := range int(n) {
			for _, u := range indices[indptr[v]:indptr[v+1]] {
				row, want := d.Graph.Row(int(u)), graph.NodeID(v) // v → u
				if how%4 == 2 {
					row, want = d.Graph.Row(v), graph.NodeID(u)
				}
				if _, found := slices.BinarySearch(row, want); !found {
					t.Fatalf("edge %d → %d is missing", v, u)
				}
			}
		}
		if d.Features.Present() && len(all) >= 9 {
			var want, got float64
			for i, x := range values {
				want += x * float64(columns[i]+1)
			}
			for i, x := range d.Features.Data {
				got += float64(x) * float64(d.Features.Indices[i]+1)
			}
			if math.Abs(got-want) > 1e-3*(1+math.Abs(want)) {
				t.Fatalf("features sum to %g, want %g", got, want)
			}
		}
	})
}

// FuzzScipy reads matrices of any entries, by rows or as a list: an error, or exactly the entries.
func FuzzScipy(f *testing.F) {
	f.Add([]byte{0, 1, 2}, []byte{1, 0}, uint8(2), false)
	f.Add([]byte{3, 0, 1, 0}, []byte{1, 2, 0, 2}, uint8(4), true)
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, first, second []byte, n uint8, coo bool) {
		shape, narrow := npy.Entry{Key: "shape", Data: []int64{int64(n), int64(n)}}, bytewise(first)
		wide := make([]int64, len(second))
		for i, v := range second {
			wide[i] = int64(int8(v))
		}
		all := []npy.Entry{shape, {Key: "format", Data: []string{"csr"}}, {Key: "indptr", Data: narrow}, {Key: "indices", Data: wide}}
		if coo {
			all = []npy.Entry{shape, {Key: "format", Data: []string{"coo"}}, {Key: "row", Data: narrow}, {Key: "col", Data: wide}}
		}
		path := filepath.Join(root, fmt.Sprint(os.Getpid(), ".npz"))
		if err := os.WriteFile(path, archive(t, all), 0o600); err != nil {
			t.Fatal(err)
		}
		a, counts, err := readScipy(&dataset.Dataset{}, path, dataset.Options{}, -1)
		if !accepted(t, path, &dataset.Dataset{Graph: a}, err) {
			return
		}
		entries := map[[2]int]bool{}
		if coo {
			for i := range first {
				entries[[2]int{int(first[i]), int(second[i])}] = true
			}
		} else {
			for v := range int(n) {
				for _, u := range second[first[v]:first[v+1]] {
					entries[[2]int{v, int(u)}] = true
				}
			}
		}
		for e := range entries {
			if _, found := slices.BinarySearch(a.Row(e[0]), graph.NodeID(e[1])); !found {
				t.Fatalf("entry %v is missing", e)
			}
		}
		if int(a.Edges()) != len(entries) || counts.Stored != int64(len(second)) || counts.Normal != a.Edges() {
			t.Fatalf("%d entries, %+v, want %d", a.Edges(), counts, len(entries))
		}
	})
}

// FuzzCSV loads folders of any text, plain or compressed, with any options: an error of one line with the folder, or a
// valid data set.
func FuzzCSV(f *testing.F) {
	f.Add("a,b\n0,1\n2,1\n", "x\n1\n2.5\n3\n", "0\n1\n-1\n", "1\n0\n1\n", uint8(0))
	f.Add("5 7\n", "", "", "7\n", uint8(4))
	f.Add("0,1\n", "1,2\n3,4\n", "0,1\n1,1\n", "0\n", uint8(7))
	f.Add("0,1\n1,2\n", "0,1\n5,1700000001\n7,1700000002\n9,9\n", "0\n\n1\n", "0\n0\n", uint8(16))
	f.Add("weight;source;target\r\n2;0;\"1\"\r\n", ",id,x\n1,1,True\n0,0,NA\n", "kind\ncat\ndog\n", ",v\n0,1\n", uint8(1))
	f.Add("Ann Bob {'weight': 2.0}\nBob Cid {}\n", "", "", "", uint8(0))
	f.Add("person,friend\nAnn,Bob\n% c\rBob,7\n", "", "id,y\n1,\n0,1\n", "", uint8(3))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, edges, features, labels, train string, how uint8) {
		dir := filepath.Join(root, fmt.Sprint(os.Getpid()))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"edges": edges, "features": features, "labels": labels, "train": train} {
			if text == "" && name != "edges" {
				continue
			}
			b, end := []byte(text), ".csv"
			if how&8 != 0 {
				b, end = []byte(datatest.Gzip(t, text)), ".csv.gz"
			}
			if err := os.WriteFile(filepath.Join(dir, name+end), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if list, _, _, _ := twin(edges); how&4 == 0 {
			for _, e := range list {
				if max(e[0], e[1]) >= 1<<14 {
					return // many row pointers take longer than they find
				}
			}
		}
		d, err := Load(dir, dataset.Options{Edges: []string{dataset.Auto, dataset.Directed, dataset.Reversed, dataset.Symmetric}[how%4], Compact: how&4 != 0, Standardize: []string{dataset.Auto, dataset.StandardizeTrain}[how>>4&1]})
		if accepted(t, dir, d, err) && how&4 != 0 && d.Features.Present() {
			t.Fatal("compacted, with features")
		}
	})
}

// FuzzPlanetoid loads sets whose files are sound pickles of any numbers: an error of one line with the folder, or a valid
// data set.
func FuzzPlanetoid(f *testing.F) {
	f.Add([]byte{0, 1, 1, 3}, []byte{2, 3, 0}, []byte{0, 1, 2, 2}, []byte{1, 3}, []byte{1, 0, 2}, []byte{0, 1, 1}, []byte{1, 2, 255, 0, 255, 6, 255, 255, 255, 255, 0}, "6\n3\n5\n", uint8(1))
	f.Add([]byte{0, 1}, []byte{0}, []byte{0, 1}, []byte{3}, []byte{0}, []byte{1}, []byte{1, 255, 0, 0}, "1\n", uint8(0))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, ptr, col, testPtr, testCol, labels, testLabels, lists []byte, index string, train uint8) {
		dir := filepath.Join(root, fmt.Sprint(os.Getpid()))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		files := map[string]func(p *pickler){}
		matrix := func(ptr, col []byte) func(p *pickler) {
			return func(p *pickler) {
				var indptr, indices []int32
				for _, v := range ptr {
					indptr = append(indptr, int32(int8(v)))
				}
				values := make([]float32, len(col))
				for i, v := range col {
					indices, values[i] = append(indices, int32(int8(v))), float32(v)
				}
				p.matrix(len(ptr)-1, 4, indptr, indices, values)
			}
		}
		classes := func(labels []byte) func(p *pickler) {
			return func(p *pickler) {
				var y []int
				for _, v := range labels {
					y = append(y, int(v))
				}
				p.oneHot(3, y...)
			}
		}
		first := min(int(train), max(len(ptr)-1, 0))
		head := ptr[:min(first+1, len(ptr))]
		files["allx"], files["tx"], files["x"] = matrix(ptr, col), matrix(testPtr, testCol), matrix(head, col[:min(len(col), int(append([]byte{0}, head...)[len(head)]))])
		files["ally"], files["ty"], files["y"] = classes(labels), classes(testLabels), classes(labels[:min(first, len(labels))])
		files["graph"] = func(p *pickler) {
			rows := [][]int{nil}
			for _, v := range lists {
				if v == 255 {
					rows = append(rows, nil)
					continue
				}
				rows[len(rows)-1] = append(rows[len(rows)-1], int(v))
			}
			p.lists(rows...)
		}
		for what, fill := range files {
			p := newPickler()
			fill(p)
			if err := os.WriteFile(filepath.Join(dir, "ind.c."+what), p.end(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "ind.c.test.index"), []byte(index), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Load(dir, dataset.Options{})
		if accepted(t, dir, d, err) && !d.Graph.Symmetric() {
			t.Fatal("not symmetric")
		}
	})
}
