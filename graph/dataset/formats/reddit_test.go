package formats

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/internal/npy"
)

func toyRedditData() []npy.Entry {
	return []npy.Entry{
		{Key: "feature", Shape: []int{4, 2}, Data: []float64{1, 2, 3, 4, 5, 6, 7, 8}}, {Key: "label", Data: []int32{1, 0, 2, 2}},
		{Key: "node_types", Data: []int64{1, 3, 2, 1}}, {Key: "node_ids", Data: []int64{7, 9, 8, 11}},
	}
}

func toyRedditGraph() []npy.Entry {
	return []npy.Entry{
		{Key: "row", Data: []int32{3, 0, 1, 0}}, {Key: "col", Data: []int32{1, 2, 0, 2}}, {Key: "data", Data: []float32{1, 1, 1, 1}},
		{Key: "shape", Data: []int64{4, 4}}, {Key: "format", Shape: []int{}, Data: []string{"coo"}},
	}
}

func redditFiles(t testing.TB, name string, data, graph []npy.Entry) map[string][]byte {
	return map[string][]byte{name + "_data.npz": archive(t, data), name + "_graph.npz": archive(t, graph)}
}

func TestToyReddit(t *testing.T) {
	dir := datatest.Put(t, redditFiles(t, "reddit", toyRedditData(), toyRedditGraph()))
	// Matrix entries are i → j: 3 → 1, 0 → 2 (twice), 1 → 0.
	for edges, want := range map[string][][]int32{
		"": {{1, 2}, {0, 3}, {0}, {1}}, dataset.Directed: {{1}, {3}, {0}, {}}, dataset.Reversed: {{2}, {0}, {}, {1}},
	} {
		for _, path := range []string{dir, filepath.Join(dir, "reddit_data.npz"), filepath.Join(dir, "reddit_graph.npz")} {
			d, err := Load(path, dataset.Options{Edges: edges})
			if err != nil {
				t.Fatal(err)
			}
			for v, row := range want {
				if !slices.Equal(d.Graph.Row(v), row) {
					t.Errorf("%q: row %d is %v, want %v", edges, v, d.Graph.Row(v), row)
				}
			}
			if !slices.Equal(d.Train, []bool{true, false, false, true}) || !slices.Equal(d.Val, []bool{false, false, true, false}) || !slices.Equal(d.Test, []bool{false, true, false, false}) {
				t.Errorf("masks %v %v %v", d.Train, d.Val, d.Test)
			}
			if !slices.Equal(d.IDs, []int64{7, 9, 8, 11}) || !slices.Equal(d.Labels, []int32{1, 0, 2, 2}) || d.Classes != 3 || d.Features.Cols != 2 || d.Features.Dense[7] != 8 {
				t.Errorf("got %+v", d)
			}
			if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, noteMerged(1)) || !strings.Contains(notes, "<f8 were converted") {
				t.Errorf("notes %q", notes)
			}
		}
	}
	// The other variant, with the matrix as csr, loops, plain ids and a folder's name.
	csr := scipy(4, []int32{0, 1}, []int32{0, 1}, []int32{2}, []int32{3})
	loops := datatest.Put(t, redditFiles(t, "reddit_self_loop", datatest.With(toyRedditData(), npy.Entry{Key: "node_ids", Data: []int32{0, 1, 2, 3}}), csr))
	d, err := Load(loops, dataset.Options{})
	if err != nil || d.IDs != nil || d.Name != filepath.Base(loops) || d.Format != "dgl-reddit" || !slices.Equal(d.Graph.Row(1), []int32{0, 1}) {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestRedditFaults(t *testing.T) {
	for _, c := range []struct {
		want string
		e    npy.Entry
	}{
		{"reddit_data.npz: node_types.npy: byte 152: vertex 3 has the type 4, want 1", npy.Entry{Key: "node_types", Data: []int64{1, 2, 3, 4}}},
		{"reddit_data.npz: label.npy: has shape [4], want [5]", npy.Entry{Key: "node_types", Data: []int64{1, 2, 3, 1, 1}}},
		{"node_types.npy: has 0 entries", npy.Entry{Key: "node_types", Data: []int64{}}},
		{"feature.npy: has shape [2 4], want 4 rows", npy.Entry{Key: "feature", Shape: []int{2, 4}, Data: make([]float32, 8)}},
		{"row 3, column 0 is NaN", npy.Entry{Key: "feature", Shape: []int{4, 1}, Data: []float32{1, 2, 3, nan()}}},
		{"label -2 is below -1", npy.Entry{Key: "label", Data: []int64{0, 1, -2, 1}}},
		{"node_ids.npy: has 3 entries, want 4", npy.Entry{Key: "node_ids", Data: []int64{1, 2, 3}}},
		{"reddit_graph.npz: shape.npy: is 5 × 5, want 4 × 4", npy.Entry{Key: "shape", Data: []int64{5, 5}}},
		{"reddit_graph.npz: row.npy: byte 136: entry 2: vertex 4 is outside [0, 4)", npy.Entry{Key: "row", Data: []int32{0, 1, 4, 1}}},
		{"col.npy: byte 128: entry 0: vertex -1 is outside", npy.Entry{Key: "col", Data: []int32{-1, 1, 3, 1}}},
		{"col.npy: has 3 entries, want 4", npy.Entry{Key: "col", Data: []int32{1, 3, 1}}},
		{"data.npy: byte 136: edge 2 has the weight 2; weights are not read from matrices", npy.Entry{Key: "data", Data: []float32{1, 1, 2, 1}}},
		{"data.npy: has 2 entries, want 4", npy.Entry{Key: "data", Data: []float32{1, 1}}},
		{`format.npy: is ["dia"], want csr or coo`, npy.Entry{Key: "format", Shape: []int{}, Data: []string{"dia"}}},
	} {
		change := func(entries []npy.Entry) []npy.Entry {
			for _, e := range entries {
				if e.Key == c.e.Key {
					return datatest.With(entries, c.e)
				}
			}
			return entries
		}
		dir := datatest.Put(t, redditFiles(t, "reddit", change(toyRedditData()), change(toyRedditGraph())))
		_, err := Load(dir, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	dir := datatest.Put(t, redditFiles(t, "reddit", toyRedditData(), toyRedditGraph()))
	if err := os.Remove(filepath.Join(dir, "reddit_graph.npz")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, dataset.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	both := redditFiles(t, "reddit", toyRedditData(), toyRedditGraph())
	both["reddit_self_loop_data.npz"] = both["reddit_data.npz"]
	if _, err := Load(datatest.Put(t, both), dataset.Options{}); err == nil || !strings.Contains(err.Error(), "holds both Reddit pairs; give one file") {
		t.Errorf("got %v", err)
	}
	if _, err := Load(datatest.NPZ(t, toyRedditData()...), dataset.Options{}); err == nil || !strings.Contains(err.Error(), "one file of DGL's Reddit pair") {
		t.Errorf("got %v", err)
	}
}

// TestScipyShape: where only the shape tells how many vertices a coo matrix has, it must be in proportion.
func TestScipyShape(t *testing.T) {
	huge := datatest.With(toyRedditGraph(), npy.Entry{Key: "shape", Data: []int64{2e9, 2e9}})
	dir := putSaint(t, toySaint(t), map[string][]byte{"adj_full.npz": archive(t, huge)})
	var err error
	if got := allocated(func() { _, err = Load(dir, dataset.Options{}) }); got > 4<<20 || err == nil || !strings.Contains(err.Error(), "is 2000000000 × 2000000000 for 4 entries; at most 1048896 are handled") {
		t.Errorf("%d bytes, %v", got, err)
	}
}

func TestDamagedReddit(t *testing.T) {
	damage(t, redditFiles(t, "reddit", toyRedditData(), toyRedditGraph()))
}

// FuzzReddit loads pairs of any content with valid headers and checksums: an error, or a valid data set.
func FuzzReddit(f *testing.F) {
	f.Add([]byte{3, 0, 1}, []byte{1, 2, 0}, []byte{1, 3, 2, 1}, []byte{1, 0, 2, 2}, uint8(4))
	f.Add([]byte{3, 200, 1}, []byte{1, 2}, []byte{0}, []byte{}, uint8(1))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, row, col, types, labels []byte, n uint8) {
		signed := func(b []byte) []int8 {
			out := make([]int8, len(b))
			for i, v := range b {
				out[i] = int8(v)
			}
			return out
		}
		data := []npy.Entry{{Key: "feature", Shape: []int{len(types), 1}, Data: make([]float32, len(types))}, {Key: "label", Data: signed(labels)}, {Key: "node_types", Data: signed(types)}}
		graph := []npy.Entry{{Key: "row", Data: signed(row)}, {Key: "col", Data: signed(col)}, {Key: "shape", Data: []int64{int64(n), int64(n)}}, {Key: "format", Data: []string{"coo"}}}
		for name, entries := range map[string][]npy.Entry{"reddit_data.npz": data, "reddit_graph.npz": graph} {
			if err := os.WriteFile(filepath.Join(root, name), archive(t, entries), 0o600); err != nil { // not to the disk: that takes 10 ms
				t.Fatal(err)
			}
		}
		d, err := Load(root, dataset.Options{})
		if err != nil {
			if !strings.HasPrefix(err.Error(), root) || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			return
		}
		if err := d.Validate(); err != nil || d.Graph.Rows() != int(n) {
			t.Fatal(err)
		}
	})
}
