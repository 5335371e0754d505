package formats

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/npy"
)

// scipy returns the entries of a SciPy sparse file of n vertices.
func scipy(n int64, rows ...[]int32) []npy.Entry {
	indptr, indices, data := []int32{0}, []int32{}, []bool{}
	for _, row := range rows {
		indices = append(indices, row...)
		indptr = append(indptr, int32(len(indices)))
	}
	for range indices {
		data = append(data, true)
	}
	return []npy.Entry{
		{Key: "indices", Data: indices}, {Key: "indptr", Data: indptr}, {Key: "format", Shape: []int{}, Data: []string{"csr"}},
		{Key: "shape", Data: []int64{n, n}}, {Key: "data", Data: data},
	}
}

func archive(t testing.TB, entries []npy.Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := npy.WriteArchive(&b, entries, npy.Archiving{Deflate: true}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func array(t testing.TB, shape []int, data any) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := npy.Write(&b, shape, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	toyRoles = `{"tr": [0, 1, 2], "va": [3], "te": [4]}`
	toyMulti = `{"0": [1, 0], "2": [0, 0], "1": [1, 1], "3": [0, 1], "4": [0, 0]}`
)

var (
	toyFeats = []float64{1, 0.1, 0, 2, 0.1, 0, 3, 0.1, 6, 7, 0.6, 2, -1, -2, 2}
	toyFull  = scipy(5, []int32{1, 2, 1}, []int32{0}, []int32{2, 3}, []int32{4}, nil)
)

// toySaint returns the files of a small GraphSAINT folder: an unsorted row with a repeat, a loop, an edge from a training
// vertex to another one, a column that is constant on the training rows.
func toySaint(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"adj_full.npz":   archive(t, toyFull),
		"adj_train.npz":  archive(t, scipy(5, []int32{1, 2}, []int32{0}, []int32{2}, nil, nil)),
		"feats.npy":      array(t, []int{5, 3}, toyFeats),
		"class_map.json": []byte(toyMulti),
		"role.json":      []byte(toyRoles),
	}
}

// putSaint writes a folder with some files replaced, or left out where their content is nil.
func putSaint(t testing.TB, files, replaced map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if other, ok := replaced[name]; ok {
			b = other
		}
		if b == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestToySaint(t *testing.T) {
	dir := putSaint(t, toySaint(t), nil)
	rows := map[string][][]int32{
		dataset.Reversed:  {{1, 2}, {0}, {2, 3}, {4}, {}},
		dataset.Directed:  {{1}, {0}, {0, 2}, {2}, {3}},
		dataset.Symmetric: {{1, 2}, {0}, {0, 2, 3}, {2, 4}, {3}},
	}
	rows[dataset.Auto], rows[""] = rows[dataset.Symmetric], rows[dataset.Symmetric]
	for edges, want := range rows {
		d, err := Load(filepath.Join(dir, "role.json"), dataset.Options{Edges: edges})
		if err != nil {
			t.Fatal(err)
		}
		for v, row := range want {
			if !slices.Equal(d.Graph.Row(v), row) {
				t.Errorf("%q: row %d is %v, want %v", edges, v, d.Graph.Row(v), row)
			}
		}
	}
	d, err := Load(dir, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Targets, []uint8{1, 0, 1, 1, 0, 0, 0, 1, 0, 0}) || d.Labels != nil || d.Classes != 2 || d.Format != "graphsaint" || d.Name != filepath.Base(dir) {
		t.Errorf("got %+v", d)
	}
	if !slices.Equal(d.Train, []bool{true, true, true, false, false}) || !slices.Equal(d.Val, []bool{3: true, 4: false}) || !slices.Equal(d.Test, []bool{4: true}) {
		t.Errorf("masks %v %v %v", d.Train, d.Val, d.Test)
	}
	// Training rows: column 0 is 1 2 3, mean 2, variance 2/3; column 1 is constant; column 2 is 0 0 6, mean 2, variance 8.
	a, b := math.Sqrt(2.0/3), math.Sqrt(8)
	want := []float64{-1 / a, 0, -2 / b, 0, 0, -2 / b, 1 / a, 0, 4 / b, 5 / a, 0.5, 0, -3 / a, -2.1, 0}
	for i, w := range want {
		// One rounding to float32, half a unit of 2^-23 relative; the float64 steps before it are nothing beside.
		if got := float64(d.Features.Dense[i]); math.Abs(got-w) > 1.01*math.Abs(w)/(1<<24) {
			t.Errorf("element %d: %v, want %v", i, got, w)
		}
	}
	notes := strings.Join(d.Notes, "\n")
	for _, want := range []string{noteMerged(1), "1 edges join a training vertex", "<f8 were converted", "of the 3 training rows"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
	for _, feats := range [][]byte{nil, array(t, []int{5, 3}, []float32{1, 0.1, 0, 2, 0.1, 0, 3, 0.1, 6, 7, 0.6, 2, -1, -2, 2})} {
		files := map[string][]byte{"adj_train.npz": nil}
		if feats != nil {
			files["feats.npy"] = feats
		}
		d, err := Load(putSaint(t, toySaint(t), files), dataset.Options{Standardize: dataset.StandardizeNone})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range toyFeats {
			if d.Features.Dense[i] != float32(v) {
				t.Errorf("element %d: %v, want %v as stored", i, d.Features.Dense[i], v)
			}
		}
	}
}

// TestSaintSingleLabel: one class per vertex, in any order, spelled 1.0, with unlabelled vertices, and no list of test
// vertices.
func TestSaintSingleLabel(t *testing.T) {
	d, err := Load(putSaint(t, toySaint(t), map[string][]byte{
		"class_map.json": []byte("{ \"4\" : 0,\r\n\"0\":2.0 ,\t\"1\": -1,\"3\": 1.00 }\n"), "role.json": []byte(`{"va": [], "tr": [2, 0 ,1]}`),
	}), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int32{2, -1, -1, 1, 0}; !slices.Equal(d.Labels, want) || d.Classes != 3 || d.Targets != nil {
		t.Errorf("labels %v of %d classes, want %v", d.Labels, d.Classes, want)
	}
	if check.CountTrue(d.Train) != 3 || len(d.Val) != 5 || check.CountTrue(d.Val) != 0 || d.Test != nil {
		t.Errorf("masks %v %v %v", d.Train, d.Val, d.Test)
	}
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "vertices without a label: 2") {
		t.Errorf("notes %q", notes)
	}
}

func TestSaintFaults(t *testing.T) {
	npz := func(e ...npy.Entry) []byte {
		all := toyFull
		for _, o := range e {
			all = datatest.With(all, o)
		}
		return archive(t, all)
	}
	wide := `{"0": [` + strings.Repeat("0,", 40) + `1], "1": [1]}`
	feats := func(i int, v float64) []byte {
		x := slices.Clone(toyFeats)
		x[i] = v
		return array(t, []int{5, 3}, x)
	}
	for _, c := range []struct{ file, want, b string }{
		{"role.json", `byte 2: "test" is none of the roles`, `{"test": []}`},
		{"role.json", `byte 13: "tr" occurs twice`, `{"tr": [1], "tr": [2]}`},
		{"role.json", `byte 11: vertex 1 is listed twice`, `{"tr": [1, 1]}`},
		{"role.json", `byte 22: vertex 2 is listed twice`, `{"tr": [1], "va": [2, 2]}`},
		{"role.json", `byte 8: vertex 5 is outside [0, 5)`, `{"tr": [5]}`},
		{"role.json", `byte 8: vertex -1 is outside [0, 5)`, `{"tr": [-1]}`},
		{"role.json", `byte 8: found a number of more than 18 digits`, `{"tr": [99999999999999999999]}`},
		{"role.json", `byte 8: found a number with a leading zero`, `{"tr": [01]}`},
		{"role.json", `byte 8: found a number that is not whole`, `{"tr": [1.5]}`},
		{"role.json", `byte 8: found a number that is not whole`, `{"tr": [1e3]}`},
		{"role.json", `byte 8: found '"', want a whole number`, `{"tr": ["1"]}`},
		{"role.json", `byte 10: found ']', want a whole number`, `{"tr": [1,]}`},
		{"role.json", `byte 10: found '2', want ',' or ']'`, `{"tr": [1 2]}`},
		{"role.json", `byte 10: truncated: want ',' or '}'`, `{"tr": [1]`},
		{"role.json", `byte 7: found 'n', want '['`, `{"tr": null}`},
		{"role.json", `byte 18: found a number that is not whole`, `{"tr": [0], "va":[2.]}`},
		{"role.json", `byte 11: found '{', want the end of the file`, `{"tr": [1]}{}`},
		{"role.json", `has no list "tr"`, `{"va": [1]}`},
		{"role.json", `a key of at most 16 plain characters`, `{"` + strings.Repeat("x", 100)},
		{"role.json", `byte 0: truncated: want '{'`, ""},
		{"class_map.json", `byte 2: vertex 5 is outside [0, 5)`, `{"5": 1}`},
		{"class_map.json", `byte 10: vertex 0 occurs twice`, `{"0": 1, "0": 1}`},
		{"class_map.json", `byte 2: found '-', want a vertex number`, `{"-1": 1}`},
		{"class_map.json", `byte 2: found a number with a leading zero`, `{"00": 1}`},
		{"class_map.json", `byte 3: found ' ', want the quote after a vertex number`, `{"0 ": 1}`},
		{"class_map.json", `byte 6: vertex 0: label -2 is outside [-1, 65536)`, `{"0": -2}`},
		{"class_map.json", `byte 6: vertex 0: label 65536 is outside [-1, 65536)`, `{"0": 65536}`},
		{"class_map.json", `byte 14: vertex 1 has a list of labels, those before it have one class`, `{"0": 1, "1": [1, 0]}`},
		{"class_map.json", `byte 19: vertex 1 has one class, those before it have a list of 2 labels`, `{"0": [1, 0], "1": 1, "2":[0,0]}`},
		{"class_map.json", `vertex 1 has 1 labels, those before it have 2`, `{"0": [1, 0], "1": [1], "2":[0,0]}`},
		{"class_map.json", `vertex 1 has more than 2 labels`, `{"0": [1, 0], "1": [1,0,0], "2":[0,0]}`},
		{"class_map.json", `byte 7: vertex 0, class 0: 2 is neither 0 nor 1`, `{"0": [2, 0]}`},
		{"class_map.json", `byte 20: vertex 1, class 0: -1 is neither 0 nor 1`, `{"0": [1, 0], "1": [-1, 0], "2": [1, 0]}`},
		{"class_map.json", `byte 7: found '[', want a whole number`, `{"0": [[1, 0]]}`},
		{"class_map.json", `byte 6: found '"', want a whole number`, `{"0": "1"}`},
		{"class_map.json", `vertex 0 has an empty list`, `{"0": []}`},
		{"class_map.json", `byte 6: vertex 0 has 41 labels; as many for each of 5 vertices do not fit the file of 100 bytes`, wide},
		{"class_map.json", `vertex 4 is missing; a multi-label map needs every vertex`, strings.Replace(toyMulti, `, "4": [0, 0]`, "", 1)},
		{"class_map.json", `gives no vertex a class`, `{"0": -1}`},
		{"class_map.json", `gives no vertex a class`, `{}`},
		{"adj_full.npz", `format.npy: is ["csc"], want csr`, string(npz(npy.Entry{Key: "format", Data: []string{"csc"}}))},
		{"adj_full.npz", `shape.npy: is 5 × 6, want a square`, string(npz(npy.Entry{Key: "shape", Data: []int64{5, 6}}))},
		{"adj_full.npz", `has 6 row pointers; want 2000000001`, string(npz(npy.Entry{Key: "shape", Data: []int64{2e9, 2e9}}))},
		{"adj_full.npz", `row 1: neighbour 5 is outside [0, 5)`, string(npz(npy.Entry{Key: "indices", Data: []int32{1, 2, 1, 5, 2, 3, 4}}))},
		{"adj_full.npz", `row pointer 2 is 2, outside [3, 7]`, string(npz(npy.Entry{Key: "indptr", Data: []int32{0, 3, 2, 6, 7, 7}}))},
		{"adj_full.npz", `edge 1 has the weight 0; weights are not read from matrices`, string(npz(npy.Entry{Key: "data", Data: []bool{0: true, 2: true, 6: true}}))},
		{"adj_train.npz", `shape.npy: is 4 × 4, want 5 × 5`, string(archive(t, scipy(4, nil, nil, nil, nil)))},
		{"adj_train.npz", `edge 2 → 3: does not join two training vertices of role.json`, string(archive(t, scipy(5, nil, nil, []int32{3}, nil, nil)))},
		{"adj_train.npz", `edge 1 → 1: is not in adj_full.npz`, string(archive(t, scipy(5, nil, []int32{1}, nil, nil, nil)))},
		{"feats.npy", "has shape [3 5], want 5 rows", string(array(t, []int{3, 5}, toyFeats))},
		{"feats.npy", "has shape [15], want 5 rows", string(array(t, nil, toyFeats))},
		{"feats.npy", "byte 136: value NaN; features must be finite", string(feats(1, math.NaN()))},
		{"feats.npy", "byte 240: value 1e+300, standardised with mean 2 and deviation 2.82", string(feats(14, 1e300))},
		{"feats.npy", "column 0: the values are too large to standardise", string(feats(0, math.MaxFloat64))},
	} {
		dir := putSaint(t, toySaint(t), map[string][]byte{c.file: []byte(c.b)})
		_, err := Load(dir, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), filepath.Join(dir, c.file)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %.60q: got %v, want %q", c.file, c.b, err, c.want)
		}
	}
	noTraining := putSaint(t, toySaint(t), map[string][]byte{"role.json": []byte(`{"tr": []}`), "adj_train.npz": nil})
	if _, err := Load(noTraining, dataset.Options{}); err == nil || !strings.Contains(err.Error(), "feats.npy: there are no training vertices to standardise with") {
		t.Errorf("got %v", err)
	}
	for name := range toySaint(t) {
		dir := putSaint(t, toySaint(t), map[string][]byte{name: nil})
		if _, err := Load(dir, dataset.Options{}); (err == nil) != (name == "adj_train.npz") || err != nil && !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// TestDamagedSaint cuts and flips every file: an error that names a file of the folder, or a valid data set.
func TestDamagedSaint(t *testing.T) {
	files := toySaint(t)
	dir := putSaint(t, files, nil)
	for name, good := range files {
		path := filepath.Join(dir, name)
		for n := range good {
			if n%3 == 0 || n > len(good)-8 {
				loadDamaged(t, dir, path, good[:n], true)
			}
			bad := bytes.Clone(good)
			bad[n] ^= 0x11
			loadDamaged(t, dir, path, bad, false)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSaintAllocation: memory follows the bytes of the file, whatever the number of vertices. 2^20 vertices need 1 MiB for
// each list of flags and 4 MiB for labels; a table of 60,000 labels for each would be 58 GiB.
func TestSaintAllocation(t *testing.T) {
	const n = 1 << 20
	for _, text := range []string{`{"0": [` + strings.Repeat("1,", 60000) + `1]}`, `{"0": 99`, `{"1048575": [`} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := scanClassMap(&dataset.Dataset{}, textfile.NewScanner("c.json", strings.NewReader(text)), int64(len(text)), n)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; err == nil || got > 8<<20 {
			t.Errorf("%.20s…: %d bytes were allocated, %v", text, got, err)
		}
	}
}
