package formats

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/pickle"
	"capgnn/internal/published"
)

func TestToyPlanetoid(t *testing.T) {
	dir := put(t, toy())
	rows := map[string][][]int32{
		dataset.Directed:  {{1, 6}, {0}, {0, 2}, {}, {}, {}, {2}},
		dataset.Reversed:  {{1, 2}, {0}, {2, 6}, {}, {}, {}, {0}},
		dataset.Symmetric: {{1, 2, 6}, {0}, {0, 2, 6}, {}, {}, {}, {0, 2}},
	}
	rows[dataset.Auto] = rows[dataset.Symmetric]
	for edges, want := range rows {
		d, err := Load(filepath.Join(dir, "ind.toy.tx"), dataset.Options{Edges: edges})
		if err != nil {
			t.Fatal(err)
		}
		for v, row := range want {
			if !slices.Equal(d.Graph.Row(v), row) {
				t.Errorf("%s: row %d is %v, want %v", edges, v, d.Graph.Row(v), row)
			}
		}
		features := dataset.Features{Cols: 4, Indptr: []int64{0, 1, 1, 3, 4, 4, 4, 5}, Indices: []int32{2, 0, 3, 3, 1}, Data: []float32{1, 3, 2, 3, 6}}
		if !reflect.DeepEqual(d.Features, features) {
			t.Errorf("features %+v, want %+v", d.Features, features)
		}
		if want := []int32{1, 0, -1, 1, -1, 1, 0}; !slices.Equal(d.Labels, want) || d.Classes != 2 || d.Name != "toy" {
			t.Errorf("%s: labels %v of %d classes, want %v", d.Name, d.Labels, d.Classes, want)
		}
		split := make([]byte, 7)
		for v := range split {
			for c, mask := range map[byte][]bool{'t': d.Train, 'v': d.Val, 'e': d.Test} {
				if mask[v] {
					split[v] += c
				}
			}
		}
		if want := "tvve\x00ee"; string(split) != want {
			t.Errorf("split %q, want %q", split, want)
		}
	}
}

func TestInconsistentPlanetoid(t *testing.T) {
	pickle := func(f func(p *pickler)) []byte {
		p := newPickler()
		f(p)
		return p.end()
	}
	labels := func(classes int, y ...int) []byte { return pickle(func(p *pickler) { p.oneHot(classes, y...) }) }
	lists := func(rows ...[]int) []byte { return pickle(func(p *pickler) { p.lists(rows...) }) }
	empty := [][]int{{}, {}, {}, {}, {}, {}}
	cases := []struct {
		file, want string
		b          []byte
	}{
		{"test.index", "ind.toy.test.index: byte 2: line 2: found 'x', want a vertex number", []byte("6\nx\n5\n")},
		{"test.index", "line 2: vertex 6 is outside [3, 7) or listed twice", []byte("6\n6\n5\n")},
		{"test.index", "vertex 2 is outside [3, 7)", []byte("6\n2\n5\n")},
		{"test.index", "ind.toy.tx: has 3 rows, want 2", []byte("6\n5\n")},
		{"ty", "has 2 rows, want 3", labels(2, 0, 1)},
		{"ty", "has 3 columns, want 2", labels(3, 0, 1, 2)},
		{"ally", "not of integers", pickle(func(p *pickler) { p.array("f4", make([]byte, 24), 3, 2) })},
		{"ally", "row 2 is not one-hot", pickle(func(p *pickler) { p.array("i4", bytes.Repeat([]byte{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, 2), 3, 2) })},
		{"ally", "is not a matrix", pickle(func(p *pickler) { p.array("i4", make([]byte, 24), 6) })},
		{"ally", "shape [3 3] and type i4 has 24 bytes", pickle(func(p *pickler) { p.array("i4", make([]byte, 24), 3, 3) })},
		{"ally", "shape is not made of whole numbers", pickle(func(p *pickler) { p.array("i4", nil, -1, 0) })},
		{"ally", `type "O8"`, pickle(func(p *pickler) { p.array("O8", nil, 0, 0) })},
		{"x", "not a csr_matrix", lists()},
		{"x", "matrix has no content", pickle(func(p *pickler) { p.WriteString("cscipy.sparse.csr\ncsr_matrix\n)\x81") })},
		{"allx", "column 4 is outside [0, 4)", pickle(func(p *pickler) { p.matrix(3, 4, []int32{0, 1, 1, 3}, []int32{2, 4, 0}, []float32{1, 2, 3}) })},
		{"allx", "row pointer 2 is 0", pickle(func(p *pickler) { p.matrix(3, 4, []int32{0, 1, 0, 3}, []int32{2, 3, 0}, []float32{1, 2, 3}) })},
		{"allx", "has 3 row pointers", pickle(func(p *pickler) { p.matrix(3, 4, []int32{0, 1, 3}, []int32{2, 3, 0}, []float32{1, 2, 3}) })},
		{"allx", "features must be finite", pickle(func(p *pickler) { p.matrix(3, 4, []int32{0, 1, 1, 3}, []int32{2, 3, 0}, []float32{1, nan(), 3}) })},
		{"graph", "do not fit 2 vertices", lists([]int{}, []int{})},
		{"allx", "has 3 rows, want 2000000000", pickle(func(p *pickler) { p.matrix(2e9, 4, []int32{0}, nil, nil) })},
		{"graph", "vertex 2: neighbour 7 is outside [0, 7)", lists([]int{}, []int{}, []int{7}, []int{}, []int{}, []int{}, []int{})},
		{"graph", "line 1: vertex 6 is outside [3, 6)", lists(empty...)},
		{"graph", "has no vertices", lists()},
		{"graph", "not a dict", labels(2, 0)},
	}
	for _, c := range cases {
		files := toy()
		files[c.file] = c.b
		dir := put(t, files)
		_, err := Load(dir, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", c.file, err, c.want)
		}
	}
	for what := range toy() {
		files := toy()
		delete(files, what)
		if _, err := Load(put(t, files), dataset.Options{}); err == nil {
			t.Errorf("without %s: no error", what)
		}
	}
}

// TestDamagedPlanetoid cuts and flips every file: an error that names a file of the folder, or a valid data set.
func TestDamagedPlanetoid(t *testing.T) {
	dir := put(t, toy())
	for what, good := range toy() {
		path := filepath.Join(dir, "ind.toy."+what)
		for n := range good {
			if n%5 == 0 || n > len(good)-8 {
				loadDamaged(t, dir, path, good[:n], what != "test.index")
			}
			bad := bytes.Clone(good)
			bad[n] ^= 0x41
			loadDamaged(t, dir, path, bad, false)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedPublishedPickles flips bytes of the real files; the decoder must not panic.
func TestDamagedPublishedPickles(t *testing.T) {
	for _, what := range []string{"x", "ty", "graph"} {
		path := published.Path(t, "planetoid_cora", "ind.cora."+what)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pickle.Read(path, bytes.NewReader(good), int64(len(good))); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(good); n += 1 + len(good)/150 {
			if _, err := pickle.Read(path, bytes.NewReader(good[:n]), int64(n)); err == nil {
				t.Errorf("%s cut to %d bytes was read", what, n)
			}
			bad := bytes.Clone(good)
			bad[n] ^= 0x41
			if v, err := pickle.Read(path, bytes.NewReader(bad), int64(len(bad))); err == nil {
				touchValue(v)
			}
		}
	}
}

// touchValue uses a decoded value as the reader does.
func touchValue(v any) {
	switch o := v.(type) {
	case *pickle.CSR:
		if o.Indptr != nil {
			if indptr, err := rowPointers(o); err == nil {
				f := dataset.Features{Indices: make([]int32, o.Indices.Len()), Data: make([]float32, o.Indices.Len())}
				_ = takeRows(o, indptr, &f, func(r int) int64 { return indptr[r] })
			}
		}
	case *pickle.Array:
		if len(o.Shape) == 2 && o.Shape[1] > 0 {
			_, _ = oneHot(o)
		}
	case *pickle.Dict:
		_ = (&planetoid{graph: o}).edges(len(o.Keys))(func(_, _ graph.NodeID) {})
	}
}

func FuzzPickle(f *testing.F) {
	for _, b := range toy() {
		f.Add(b)
	}
	f.Add([]byte("\x80\x02]q\x00h\x00a."))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := pickle.Read("p", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "p: byte ") {
				t.Fatalf("no place in %v", err)
			}
			return
		}
		touchValue(v)
	})
}
