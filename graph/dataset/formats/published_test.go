package formats

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/internal/npy"
	"capgnn/internal/published"
)

func sum[T int32 | int64 | float32](s []T) (total float64) {
	for _, v := range s {
		total += float64(v)
	}
	return total
}

func classSizes(d *dataset.Dataset) []int {
	sizes := make([]int, d.Classes)
	for _, y := range d.Labels {
		if y >= 0 {
			sizes[y]++
		}
	}
	return sizes
}

// pairs counts distinct unordered pairs, loops apart.
func pairs(d *dataset.Dataset) (pairs, loops int) {
	for v := range d.Graph.Rows() {
		for _, u := range d.Graph.Row(v) {
			if int(u) < v {
				pairs++
			} else if int(u) == v {
				loops++
			}
		}
	}
	return pairs, loops
}

func maxDegree(d *dataset.Dataset) int { return int(slices.Max(d.Graph.InDegree())) }

// TestBenchmarkFiles holds the reader of format A to the figures in data/README.md.
func TestBenchmarkFiles(t *testing.T) {
	cases := []struct {
		dir                               string
		nodes, entries, pairs, loops, deg int
		dim, nnz                          int
		sumAdj, sumCols, sumValues        float64
		classes                           []int
	}{
		{"coauthor_physics", 34493, 495924, 247962, 0, 382, 8415, 1137311, 8439796843, 4933563670, 1930034, []int{5750, 5045, 17426, 2753, 3519}},
		{"coauthor_cs", 18333, 163788, 81894, 0, 136, 6805, 1092079, 1500089782, 3720414181, 1741991, []int{708, 462, 2050, 429, 1394, 2193, 371, 924, 775, 118, 1444, 2033, 420, 4136, 876}},
		{"amazon_photo", 7650, 143663, 119081, 1, 1434, 745, 1979909, 548071547, 736945040, 1979909, []int{369, 1686, 703, 915, 882, 823, 1941, 331}},
		{"cora_ml", 2995, 8416, 8158, 0, 246, 2879, 151171, 12268607, 225617753, 17938.806, []int{354, 402, 452, 442, 857, 193, 295}},
		{"cora_npz", 2708, 5429, 5278, 0, 168, 1433, 49216, 6932194, 39016843, 49216, []int{298, 418, 818, 426, 217, 180, 351}},
		{"citeseer_npz", 3312, 4715, 4536, 124, 99, 3703, 105165, 7766196, 191362100, 105165, []int{249, 596, 701, 508, 668, 590}},
	}
	for _, c := range cases {
		d, err := Load(published.Path(t, c.dir), dataset.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.dir, err)
			continue
		}
		if d.Name != c.dir || d.Format != "gnn-benchmark" || d.Train != nil || d.Val != nil || d.Test != nil {
			t.Errorf("%s: name %q, format %q, a split: %v", c.dir, d.Name, d.Format, d.Train != nil)
		}
		p, loops := pairs(d)
		if d.Graph.Rows() != c.nodes || p != c.pairs || loops != c.loops || !d.Graph.Symmetric() || maxDegree(d) != c.deg {
			t.Errorf("%s: %d vertices, %d pairs, %d loops, degree %d, want %d, %d, %d, %d", c.dir, d.Graph.Rows(), p, loops, maxDegree(d), c.nodes, c.pairs, c.loops, c.deg)
		}
		if d.Features.Cols != c.dim || len(d.Features.Data) != c.nnz || sum(d.Features.Indices) != c.sumCols {
			t.Errorf("%s: %d columns, %d values, sum of columns %.0f, want %d, %d, %.0f", c.dir, d.Features.Cols, len(d.Features.Data), sum(d.Features.Indices), c.dim, c.nnz, c.sumCols)
		}
		// The published sum has three decimals, so it is half a unit of the third wide.
		if got := sum(d.Features.Data); math.Abs(got-c.sumValues) > 0.0005 {
			t.Errorf("%s: sum of values %f, want %f", c.dir, got, c.sumValues)
		}
		if got := classSizes(d); !slices.Equal(got, c.classes) {
			t.Errorf("%s: class sizes %v, want %v", c.dir, got, c.classes)
		}
		if raw := rawColumns(t, published.Path(t, c.dir)); raw != c.sumAdj {
			t.Errorf("%s: sum of adj_indices %.0f, want %.0f", c.dir, raw, c.sumAdj)
		}
		checkDirections(t, c.dir, c.entries, c.sumAdj)
	}
}

// rawColumns sums adj_indices as they are stored.
func rawColumns(t *testing.T, dir string) float64 {
	t.Helper()
	list, err := folderArchive(dir)
	if err != nil {
		t.Fatal(err)
	}
	z, err := npy.OpenArchive(list)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	a, err := z.Array("adj_indices")
	if err != nil {
		t.Fatal(err)
	}
	columns, err := a.Int32()
	if err != nil {
		t.Fatal(err)
	}
	return sum(columns)
}

// checkDirections: reversed rows are the rows of the matrix itself, directed ones those of its transpose.
func checkDirections(t *testing.T, dir string, entries int, sumAdj float64) {
	t.Helper()
	reversed, err1 := Load(published.Path(t, dir), dataset.Options{Edges: dataset.Reversed})
	directed, err2 := Load(published.Path(t, dir), dataset.Options{Edges: dataset.Directed})
	if err1 != nil || err2 != nil {
		t.Errorf("%s: %v, %v", dir, err1, err2)
		return
	}
	if int(reversed.Graph.Edges()) != entries || sum(reversed.Graph.Indices) != sumAdj {
		t.Errorf("%s: reversed has %d edges, sum %.0f, want %d, %.0f", dir, reversed.Graph.Edges(), sum(reversed.Graph.Indices), entries, sumAdj)
	}
	if !directed.Graph.Equal(reversed.Graph.Transpose()) {
		t.Errorf("%s: directed is not the transpose of reversed", dir)
	}
}

// TestPlanetoidFiles holds the reader of format B to the figures in data/README.md.
func TestPlanetoidFiles(t *testing.T) {
	noRow := []int{2407, 2489, 2553, 2682, 2781, 2953, 3042, 3063, 3212, 3214, 3250, 3292, 3305, 3306, 3309}
	cases := []struct {
		dir                                        string
		nodes, pairs, loops, deg, distinct, merged int
		dim, nnz, train                            int
		sumCols                                    float64
		classes, unlabelled                        []int
	}{
		{"planetoid_cora", 2708, 5278, 0, 168, 10556, 302, 1433, 49216, 140, 39016843, []int{351, 217, 418, 818, 426, 298, 180}, nil},
		{"planetoid_citeseer", 3327, 4552, 124, 99, 9228, 236, 3703, 105165, 120, 191362100, []int{249, 590, 668, 701, 596, 508}, noRow},
	}
	for _, c := range cases {
		d, err := Load(published.Path(t, c.dir), dataset.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.dir, err)
			continue
		}
		p, loops := pairs(d)
		if d.Graph.Rows() != c.nodes || p != c.pairs || loops != c.loops || int(d.Graph.Edges()) != c.distinct || maxDegree(d) != c.deg {
			t.Errorf("%s: %d vertices, %d pairs, %d loops, %d edges, degree %d, want %d, %d, %d, %d, %d", c.dir,
				d.Graph.Rows(), p, loops, d.Graph.Edges(), maxDegree(d), c.nodes, c.pairs, c.loops, c.distinct, c.deg)
		}
		if !d.Graph.Symmetric() || !strings.Contains(strings.Join(d.Notes, "\n"), noteMerged(c.merged)) {
			t.Errorf("%s: symmetric %v, notes %q, want %d merged", c.dir, d.Graph.Symmetric(), d.Notes, c.merged)
		}
		if d.Features.Cols != c.dim || len(d.Features.Data) != c.nnz || sum(d.Features.Indices) != c.sumCols || sum(d.Features.Data) != float64(c.nnz) {
			t.Errorf("%s: %d columns, %d values, sum of columns %.0f", c.dir, d.Features.Cols, len(d.Features.Data), sum(d.Features.Indices))
		}
		if got := classSizes(d); !slices.Equal(got, c.classes) {
			t.Errorf("%s: class sizes %v, want %v", c.dir, got, c.classes)
		}
		var unlabelled []int
		perClass := make([]int, d.Classes)
		for v, y := range d.Labels {
			if y < 0 {
				unlabelled = append(unlabelled, v)
				if d.Train[v] || d.Val[v] || d.Test[v] || d.Features.Indptr[v] != d.Features.Indptr[v+1] {
					t.Errorf("%s: vertex %d has no row, but is in a split or has features", c.dir, v)
				}
			} else if d.Train[v] {
				perClass[y]++
			}
		}
		if !slices.Equal(unlabelled, c.unlabelled) {
			t.Errorf("%s: unlabelled %v, want %v", c.dir, unlabelled, c.unlabelled)
		}
		if slices.Min(perClass) != 20 || slices.Max(perClass) != 20 {
			t.Errorf("%s: training vertices per class %v, want 20 each", c.dir, perClass)
		}
		if a, b, e := check.CountTrue(d.Train), check.CountTrue(d.Val), check.CountTrue(d.Test); a != c.train || b != 500 || e != 1000 {
			t.Errorf("%s: split %d/%d/%d, want %d/500/1000", c.dir, a, b, e, c.train)
		}
	}
}

// TestPlanetoidRows compares Cora of two publications: the same papers in another order have the same multiset of
// (degree, features per row, sum of columns).
func TestPlanetoidRows(t *testing.T) {
	key := func(d *dataset.Dataset) []string {
		var out []string
		for v := range d.Graph.Rows() {
			row := d.Features.Indices[d.Features.Indptr[v]:d.Features.Indptr[v+1]]
			out = append(out, fmt.Sprint(len(d.Graph.Row(v)), len(row), sum(row)))
		}
		slices.Sort(out)
		return out
	}
	a, err1 := Load(published.Path(t, "planetoid_cora"), dataset.Options{})
	b, err2 := Load(published.Path(t, "cora_npz"), dataset.Options{})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if !slices.Equal(key(a), key(b)) {
		t.Error("vertices of planetoid_cora and cora_npz differ in degree or features")
	}
}

// TestOtherFormatsAreNamed: what is known and not read is an error that says what it is.
func TestOtherFormatsAreNamed(t *testing.T) {
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"cora_linqs"}, "LINQS"},
		{[]string{"cora_linqs", "cora.content"}, "LINQS"},
		{[]string{"heterophilous"}, "several .npz files"},
		{[]string{"README.md"}, "no data set"},
	} {
		_, err := Load(published.Path(t, c.path...), dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: got %v, want %q", c.path, err, c.want)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range []string{"coauthor_physics", "amazon_photo", "planetoid_cora", "ppi", "heterophilous/tolokers.npz", "web_notredame"} {
		path := published.Path(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Load(path, dataset.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
