package formats

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/internal/npy"
)

// toyOGBArrays are raw/data.npz and raw/node-label.npz of the data set of toyOGB.
func toyOGBArrays() (data, label []npy.Entry) {
	nan := math.NaN()
	return []npy.Entry{
		{Key: "edge_index", Shape: []int{2, 4}, Data: []int64{0, 2, 0, 3, 1, 1, 1, 3}},
		{Key: "num_nodes_list", Data: []int64{4}}, {Key: "num_edges_list", Data: []int64{4}},
		{Key: "node_feat", Shape: []int{4, 2}, Data: []float32{0.5, -1e-3, 1, 2, 0, 0, math.MaxFloat32, -7}},
		{Key: "node_year", Shape: []int{4, 1}, Data: []int64{1, 2, 3, 4}},
	}, []npy.Entry{{Key: "node_label", Shape: []int{4, 1}, Data: []float64{2, nan, 0, 1}}}
}

// ogbFolder is the files of an OGB folder of these arrays.
func ogbFolder(t testing.TB, data, label []npy.Entry) map[string][]byte {
	files := toyOGB(t, map[string]string{"raw/edge": "absent", "raw/node-feat": "absent", "raw/node-label": "absent", "raw/num-node-list": "absent", "raw/num-edge-list": "absent"})
	files["raw/data.npz"] = archive(t, data)
	if label != nil {
		files["raw/node-label.npz"] = archive(t, label)
	}
	return files
}

// turned returns a .npy of pairs as NumPy writes the transpose of an array: in Fortran order.
func turned(t testing.TB, pairs []int64) []byte {
	b := array(t, []int{len(pairs) / 2, 2}, pairs)
	was, is := fmt.Sprintf("'fortran_order': False, 'shape': (%d, 2)", len(pairs)/2), fmt.Sprintf("'fortran_order': True, 'shape': (2, %d)", len(pairs)/2)
	if !bytes.Contains(b, []byte(was)) {
		t.Fatalf("%q has no %q", b[:128], was)
	}
	return bytes.Replace(b, []byte(was), []byte(is+" "), 1)
}

// zipOf returns an .npz of arrays and of another one, which is the bytes of a .npy.
func zipOf(t testing.TB, entries []npy.Entry, name string, raw []byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	put := func(name string, raw []byte) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range entries {
		put(e.Key+".npy", array(t, e.Shape, e.Data))
	}
	put(name, raw)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A folder of arrays is the same data set as one of text.
func TestOGBArchive(t *testing.T) {
	data, label := toyOGBArrays()
	for name, change := range map[string]func(){
		"as saved": func() {},
		"int32":    func() { data[0].Data = []int32{0, 2, 0, 3, 1, 1, 1, 3} },
		"whole labels": func() {
			label[0] = npy.Entry{Key: "node_label", Data: []int64{2, -1, 0, 1}}
		},
		"single labels": func() {
			label[0] = npy.Entry{Key: "node_label", Shape: []int{4, 1}, Data: []float32{2, nan(), 0, 1}}
		},
	} {
		data, label = toyOGBArrays()
		change()
		for _, edges := range []string{"", dataset.Directed, dataset.Reversed} {
			opt := dataset.Options{Edges: edges}
			want, err := Load(datatest.Put(t, toyOGB(t, nil)), opt)
			if err != nil {
				t.Fatal(err)
			}
			dir := datatest.Put(t, ogbFolder(t, data, label))
			d, err := Load(dir, opt)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want.Name = d.Name
			if !datatest.Equal(d, want) || d.Format != formatOGB || !slices.Contains(d.Notes, "vertices without a label: 1") || !slices.Contains(d.Notes, "read: the arrays of data.npz; not read: node_year") {
				t.Errorf("%s, edges %q: got %+v, want %+v", name, edges, d, want)
			}
		}
	}
}

// Several labels, no features, no labels.
func TestOGBArchiveVariants(t *testing.T) {
	data, _ := toyOGBArrays()
	several := []npy.Entry{{Key: "node_label", Shape: []int{4, 3}, Data: []float32{0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1}}}
	d, err := Load(datatest.Put(t, ogbFolder(t, data[:3], several)), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Targets, []uint8{0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1}) || d.Classes != 3 || d.Features.Present() || d.Labels != nil || len(d.Notes) != 2 {
		t.Errorf("got %+v", d)
	}
	if d, err = Load(datatest.Put(t, ogbFolder(t, data, nil)), dataset.Options{}); err != nil || d.Labels != nil || d.Classes != 0 || d.Train == nil {
		t.Errorf("got %+v, %v", d, err)
	}
}

// The ends of an edge lie side by side if the array was transposed.
func TestOGBArchiveTurned(t *testing.T) {
	data, label := toyOGBArrays()
	pairs := turned(t, []int64{0, 1, 2, 1, 0, 1, 3, 3})
	files := ogbFolder(t, data, label)
	files["raw/data.npz"] = zipOf(t, data[1:], "edge_index.npy", pairs)
	d, err := Load(datatest.Put(t, files), dataset.Options{Edges: dataset.Directed})
	if err != nil {
		t.Fatal(err)
	}
	if got := arcs(d); got != "0→1:1 2→1:1 3→3:1" {
		t.Errorf("got %s", got)
	}
}

func TestOGBArchiveFaults(t *testing.T) {
	for name, c := range map[string]struct {
		change func(data, label []npy.Entry)
		want   string
	}{
		"no edges":          {func(data, _ []npy.Entry) { data[0].Key = "edge" }, `data.npz: holds no array "edge_index"`},
		"several graphs":    {func(data, _ []npy.Entry) { data[1].Data = []int64{2, 2} }, "num_nodes_list.npy: has shape [2], want one number"},
		"no vertices":       {func(data, _ []npy.Entry) { data[1].Data = []int64{0} }, "0 vertices, want 1 to"},
		"edges by row":      {func(data, _ []npy.Entry) { data[0].Shape = []int{4, 2} }, "has shape [4 2], want [2, 4] (num_edges_list)"},
		"edges missing":     {func(data, _ []npy.Entry) { data[2].Data = []int64{5} }, "has shape [2 4], want [2, 5] (num_edges_list)"},
		"vertex too large":  {func(data, _ []npy.Entry) { data[0].Data = []int64{0, 2, 0, 3, 1, 1, 1, 4} }, "data.npz: edge_index.npy: byte 184: entry 3: vertex 4 is outside [0, 4)"},
		"negative vertex":   {func(data, _ []npy.Entry) { data[0].Data = []int64{0, -2, 0, 3, 1, 1, 1, 3} }, "entry 1: vertex -2 is outside [0, 4)"},
		"too many vertices": {func(data, _ []npy.Entry) { data[1].Data = []int64{2e9} }, "has 4 edges for 2000000000 vertices; at most"},
		"features":          {func(data, _ []npy.Entry) { data[3].Shape = []int{2, 4} }, "node_feat.npy: has shape [2 4], want 4 rows"},
		"infinite":          {func(data, _ []npy.Entry) { data[3].Data.([]float32)[3] = float32(math.Inf(1)) }, "row 1, column 1 is +Inf; features must be finite"},
		"labels of types":   {func(_, label []npy.Entry) { label[0].Key = "paper" }, `node-label.npz: holds no array "node_label"; it has: paper`},
		"labels":            {func(_, label []npy.Entry) { label[0].Data.([]float64)[2] = 0.5 }, "vertex 2: label 0.5 is no class"},
		"label":             {func(_, label []npy.Entry) { label[0].Data.([]float64)[2] = 70000 }, "vertex 2: label 70000 is no class from 0 to 65535"},
		"label shape":       {func(_, label []npy.Entry) { label[0].Shape = []int{1, 4} }, "has shape [1 4], want [4, 1]"},
		"several labels": {func(_, label []npy.Entry) {
			label[0] = npy.Entry{Key: "node_label", Shape: []int{4, 2}, Data: []int64{0, 1, 1, 2, 0, 0, 0, 0}}
		}, "vertex 1, class 1: 2 is neither 0 nor 1"},
	} {
		data, label := toyOGBArrays()
		c.change(data, label)
		dir := datatest.Put(t, ogbFolder(t, data, label))
		_, err := Load(dir, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	data, label := toyOGBArrays()
	files := ogbFolder(t, data, label)
	for _, stem := range ogbSplits {
		delete(files, "split/time/"+stem+".csv.gz")
	}
	files["split/time/split_dict.pt"] = []byte("x")
	dir := datatest.Put(t, files)
	saved := filepath.Join(dir, "split", "time", "split_dict.pt")
	want := saved + `: is a split of PyTorch, which is not read: in Python: for k, v in torch.load("` + saved + `", weights_only=False).items(): numpy.savetxt(f"` + filepath.Dir(saved) + `/{k}.csv", v, fmt="%d")`
	if _, err := Load(dir, dataset.Options{}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	files["raw/num-node-list.csv"] = []byte("4\n")
	if _, err := Load(datatest.Put(t, files), dataset.Options{}); err == nil || !strings.Contains(err.Error(), "there are both data.npz and num-node-list; keep one") {
		t.Errorf("got %v", err)
	}
}

func TestDamagedOGBArchive(t *testing.T) {
	data, label := toyOGBArrays()
	damage(t, ogbFolder(t, data, label))
}

// FuzzOGBArchive loads arrays of any content with valid headers and checksums: an error, or a valid data set.
func FuzzOGBArchive(f *testing.F) {
	f.Add([]byte{0, 2, 0, 3, 1, 1, 1, 3}, []byte{1, 0, 255, 2}, uint8(4), uint8(4), true)
	f.Add([]byte{0, 200}, []byte{1, 0}, uint8(2), uint8(1), false)
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, edges, labels []byte, n, m uint8, byRow bool) {
		half := len(edges) / 2
		var wide []int64
		for _, v := range edges[:2*half] {
			wide = append(wide, int64(int8(v)))
		}
		y := make([]float32, len(labels))
		for i, v := range labels {
			if y[i] = float32(int8(v)); v == 255 {
				y[i] = nan()
			}
		}
		shape := []int{2, half}
		if byRow {
			shape = []int{half, 2}
		}
		x := make([]float32, int(n)*2)
		data := []npy.Entry{{Key: "edge_index", Shape: shape, Data: wide}, {Key: "num_nodes_list", Data: []int64{int64(n)}}, {Key: "num_edges_list", Data: []int64{int64(m)}}, {Key: "node_feat", Shape: []int{int(n), 2}, Data: x}}
		dir := filepath.Join(root, fmt.Sprint(os.Getpid()))
		for name, b := range map[string][]byte{"data.npz": archive(t, data), "node-label.npz": archive(t, []npy.Entry{{Key: "node_label", Data: y}})} {
			if err := os.MkdirAll(filepath.Join(dir, "raw"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "raw", name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Load(dir, dataset.Options{})
		accepted(t, dir, d, err)
	})
}
