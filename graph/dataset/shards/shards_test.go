package shards_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/shards"
)

// cutOf returns a data set that is cut: of n vertices, some of whose edges may lack their reverse.
func cutOf(t testing.TB, n int, seed uint64, machines []int, directed, sparse, multi bool) *shards.Cut {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 24))
	const cols, classes = 5, 3
	var edges []graph.Edge
	for range 3 * n {
		u, v := graph.NodeID(r.IntN(n)), graph.NodeID(r.IntN(n))
		if edges = append(edges, graph.Edge{From: u, To: v}); !directed {
			edges = append(edges, graph.Edge{From: v, To: u})
		}
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	d := &dataset.Dataset{Name: "made", Graph: g, Classes: classes, Features: dataset.Features{Cols: cols}, Train: make([]bool, n), Test: make([]bool, n), ClassNames: []string{"a", "b", "c"}}
	for c := range cols {
		d.ColumnNames = append(d.ColumnNames, fmt.Sprint("column ", c))
	}
	if x := &d.Features; sparse {
		x.Indptr = []int64{0}
		for range n {
			for c := range int32(cols) {
				if r.IntN(2) == 0 {
					x.Indices, x.Data = append(x.Indices, c), append(x.Data, r.Float32())
				}
			}
			x.Indptr = append(x.Indptr, int64(len(x.Indices)))
		}
	} else {
		for range n * cols {
			x.Dense = append(x.Dense, r.Float32())
		}
	}
	c := &shards.Cut{Data: d, Machines: machines, Plan: []byte("a plan"), Part: make([]int32, n), Seeds: make([]bool, n)}
	parts := 0
	for _, k := range machines {
		parts += k
	}
	for v := range n {
		if multi {
			d.Targets = append(d.Targets, uint8(r.IntN(2)), uint8(r.IntN(2)), 1)
		} else {
			d.Labels = append(d.Labels, int32(r.IntN(classes+1))-1)
		}
		d.Train[v], d.Test[v], c.Part[v] = v%3 == 0, v%3 == 1, int32(r.IntN(parts))
		if v < parts {
			c.Part[v] = int32(v)
		}
		c.Seeds[v] = d.Train[v] && (multi || d.Labels[v] >= 0)
	}
	sum := strings.Repeat("0f", 32)
	c.Head = shards.Head{Plan: sum, Graph: sum, FeaturesSum: sum, Identity: map[string]string{"kept": sum, "added": sum, "removed": sum}, Settled: map[string]string{"edges": "auto"}}
	return c
}

// weigh gives the edges of a cut weights, other ones in each direction.
func weigh(c *shards.Cut, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 25))
	g := *c.Data.Graph
	for range g.Indices {
		g.Weights = append(g.Weights, float32(r.IntN(7))*r.Float32()-0.5)
	}
	c.Data.Graph = &g
}

// write makes a folder of a cut.
func write(t testing.TB, c *shards.Cut) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "folder")
	if err := shards.Write(dir, c, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What is read of a folder is the data set: rows, features, labels and masks of every vertex at its machine, and the tables of all parts. Equal cuts give equal files.
func TestWriteAndRead(t *testing.T) {
	for k, machines := range [][]int{{1, 1}, {2, 1}, {1}, {1, 3, 2}, {2, 1}, {1, 2, 1}} {
		c := cutOf(t, 40, uint64(k), machines, k%2 == 1, k >= 2, k == 1 || k == 2)
		if k >= 4 {
			weigh(c, uint64(k))
		}
		for v := range c.Part {
			switch k % 3 {
			case 1:
				c.Data.IDs = append(c.Data.IDs, math.MaxInt64-int64(v))
			case 2:
				c.Data.VertexNames = append(c.Data.VertexNames, fmt.Sprintf("%d, \"é\"\n<&>\u2028", v))
			}
		}
		dir := write(t, c)
		first := contents(t, dir)
		f, err := shards.Open(dir, shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o, err := f.Outline(c.Part)
		if err != nil {
			t.Fatal(err)
		}
		g, back := c.Data.Graph, c.Data.Graph.Transpose()
		want := graph.OutlineOf(g, func(int) *graph.Rows { return &graph.Rows{CSR: back} }, c.Seeds, c.Part, f.Parts())
		if f.Symmetric {
			want = graph.OutlineOf(g, nil, c.Seeds, c.Part, f.Parts())
		}
		if !reflect.DeepEqual(f.ClassNames, c.Data.ClassNames) || !reflect.DeepEqual(f.ColumnNames, c.Data.ColumnNames) || string(f.Plan) != "a plan" || !reflect.DeepEqual(f.Masks, []string{"train_mask", "test_mask"}) || f.Symmetric != g.Symmetric() {
			t.Errorf("machines %v: head %+v", machines, f.Head)
		}
		ids, names, err := f.IDs()
		if err != nil || !reflect.DeepEqual(ids, c.Data.IDs) || !reflect.DeepEqual(names, c.Data.VertexNames) {
			t.Errorf("machines %v: ids %v and %q (%v)", machines, ids, names, err)
		}
		if (o.Weights == nil) != (want.Weights == nil) || o.Weights != nil && !o.Weights.Equal(want.Weights) {
			t.Errorf("machines %v: other sums of weights", machines)
		}
		o.Weights, want.Weights = nil, nil
		if fmt.Sprint(o) != fmt.Sprint(want) {
			t.Errorf("machines %v: the tables are not those of the graph", machines)
		}
		seen := 0
		for m := range machines {
			s, err := f.Shard(m, shards.Options{})
			if err != nil {
				t.Fatal(err)
			}
			seen += checkShard(t, c, back, f.Machines[m], s)
			if err := f.Unchanged(m); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			name := filepath.Join(f.Path(m), "own_train_mask.npy")
			if err := os.Truncate(name, 130); err != nil {
				t.Fatal(err)
			}
			if err := f.Unchanged(m); err == nil || !strings.Contains(err.Error(), name+": has 130 bytes, ") {
				t.Errorf("a file became shorter after it was read: %v", err)
			}
		}
		if seen != 40 {
			t.Errorf("machines %v: %d vertices", machines, seen)
		}
		if o.Weights = nil; f.Weighted {
			o.Weights = g.WeightSums()
		}
		w, err := f.MapWhole(o, shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := w.Data; !d.Graph.Equal(g) || !slices.Equal(d.Labels, c.Data.Labels) || !slices.Equal(d.Targets, c.Data.Targets) || !slices.Equal(w.Entries, c.Data.Features.Indptr) {
			t.Errorf("machines %v: another graph, or other labels", machines)
		}
		if err := errors.Join(f.WholeUnchanged(), w.Data.Close()); err != nil {
			t.Error(err)
		}
		if !maps.Equal(first, contents(t, write(t, c))) {
			t.Errorf("machines %v: written again, the files differ", machines)
		}
	}
}

// checkShard compares what a machine has with the data set, and returns how many vertices are its own.
func checkShard(t *testing.T, c *shards.Cut, back *graph.CSR, m shards.Machine, s *shards.Shard) int {
	t.Helper()
	d := c.Data
	for k, v := range s.In.IDs {
		own := k < m.Vertices
		if r := m.Range(); own != r.Has(int(c.Part[v])) {
			t.Fatalf("vertex %d is own: %t", v, own)
		}
		row := func(d *dataset.Dataset, weights []float32) []entry { return entriesOf(d.Graph, weights, k, d.IDs) }
		if own && (!slices.Equal(row(s.In, s.In.Graph.Weights), entriesOf(d.Graph, d.Graph.Weights, int(v), nil)) || !slices.Equal(row(s.Out, s.OutWeights), entriesOf(back, back.Weights, int(v), nil))) {
			t.Errorf("vertex %d: rows %v and %v", v, row(s.In, s.In.Graph.Weights), row(s.Out, s.OutWeights))
		}
		if x, y := &s.In.Features, &d.Features; x.Sparse() {
			if lo, hi := x.Indptr[k], x.Indptr[k+1]; !slices.Equal(x.Indices[lo:hi], y.Indices[y.Indptr[v]:y.Indptr[v+1]]) || !slices.Equal(x.Data[lo:hi], y.Data[y.Indptr[v]:y.Indptr[v+1]]) {
				t.Errorf("vertex %d: other features", v)
			}
		} else if !slices.Equal(x.Dense[k*x.Cols:][:x.Cols], y.Dense[int(v)*x.Cols:][:x.Cols]) {
			t.Errorf("vertex %d: other features", v)
		}
		if !own {
			continue
		}
		if l := s.Labels; d.Labels != nil && l.Labels[k] != d.Labels[v] || d.Targets != nil && !slices.Equal(l.Targets[3*k:][:3], d.Targets[3*v:][:3]) || l.Train[k] != d.Train[v] || l.Val != nil || l.Test[k] != d.Test[v] {
			t.Errorf("vertex %d: other labels or masks", v)
		}
	}
	return m.Vertices
}

// entry is an edge of a row, by the vertex at its other end, and what it weighs.
type entry struct {
	id     int64
	weight float32
}

// entriesOf returns those of row k, by vertex; ids, if given, are the vertices of the columns.
func entriesOf(g *graph.CSR, weights []float32, k int, ids []int64) (out []entry) {
	for e := g.Indptr[k]; e < g.Indptr[k+1]; e++ {
		x := entry{id: int64(g.Indices[e])}
		if ids != nil {
			x.id = ids[x.id]
		}
		if weights != nil {
			x.weight = weights[e]
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	return out
}

// contents reads all files of a folder.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Writing that is interrupted, at whatever file, leaves nothing; and what is there stays.
func TestWriteInterrupted(t *testing.T) {
	c := cutOf(t, 30, 1, []int{1, 1}, true, false, false)
	stop := errors.New("stopped")
	calls := 0
	for at := 0; ; at++ {
		root, left := t.TempDir(), at
		err := shards.Write(filepath.Join(root, "new"), c, func(string, int64, int64) error {
			if left--; left < 0 {
				return stop
			}
			return nil
		})
		if err == nil {
			break
		}
		calls++
		if list, _ := os.ReadDir(root); !errors.Is(err, stop) || len(list) > 0 {
			t.Fatalf("stopped at piece %d: %v, left %v", at, err, list)
		}
	}
	if calls < 10 {
		t.Errorf("watched %d times", calls)
	}
	dir := write(t, c)
	if err := shards.Write(dir, c, nil); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("written over another folder: %v", err)
	}
}

// Heads that cannot be are refused, each with one line that names the file.
func TestHeads(t *testing.T) {
	dir := write(t, cutOf(t, 30, 2, []int{1, 2}, false, false, false))
	path := filepath.Join(dir, "common", "shards.json")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ old, new, want string }{
		{`"vertices": 30`, `"vertices": 31`, "machines have 3 parts and 30 vertices, there are 31"},
		{`"vertices": 30`, `"vertices": -1`, "cannot be"},
		{`"features": 5`, `"features": 0`, "cannot be"},
		{`"classes": 3`, `"classes": 99999999`, "99999999 classes of 30 vertices cannot be"},
		{`"name": "made"`, `"name": "../made"`, "cannot be part of a path"},
		{`"plan": "0f`, `"plan": "zz`, "is no SHA-256"},
		{`"added": `, `"other": `, "is no SHA-256"},
		{`"first": 1`, `"first": 2`, "machine 1: 2 parts from 2 on"},
		{`"capgnn_shards": 1`, `"capgnn_shards": 9`, "version 9 of shards; this program reads version 1"},
		{`"loops.npy"`, `"../loops.npy"`, "file loops.npy is not announced"},
		{`"in_degree.npy"`, `"in_degree.npy": {"bytes": 1, "sha256": ""}, "../../x"`, "lies outside of its folder"},
		{`"weighted": false`, `"weighted": true`, "file in_weight.npy is not announced"},
		{`"symmetric": true`, `"symmetric": false`, "file out_degree.npy is not announced"},
		{`{`, `[`, "invalid character"},
	} {
		text := strings.Replace(string(good), tc.old, tc.new, 1)
		if text == string(good) {
			t.Fatalf("%q is not in the head", tc.old)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := shards.Open(dir, shards.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", tc.new, err, tc.want)
		}
	}
}
