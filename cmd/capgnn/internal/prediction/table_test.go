package prediction

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/internal/npy"
)

var nan = float32(math.NaN())

// The largest logit wins, of equals the first; a NaN never does.
func TestLargest(t *testing.T) {
	for _, c := range []struct {
		row  []float32
		want int64
	}{{[]float32{1, 3, 2}, 1}, {[]float32{2, 2}, 0}, {[]float32{nan, -5}, 1}, {[]float32{-5, nan}, 0}, {[]float32{nan, nan}, -1}, {[]float32{float32(math.Inf(-1)), nan}, 0}, {nil, -1}} {
		if got := largest(c.row); got != c.want {
			t.Errorf("%v: %d, want %d", c.row, got, c.want)
		}
	}
}

func text(t *testing.T, table *table) string {
	t.Helper()
	var b bytes.Buffer
	if err := table.csv(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Rows come in any order, and go to their vertices.
func TestLabels(t *testing.T) {
	one := newLabels(3, 2, false)
	one.put([]graph.NodeID{2, 0}, []float32{0, 1, 4, 3})
	one.put([]graph.NodeID{1}, []float32{nan, nan})
	if got := text(t, one); got != "vertex,label\n0,0\n1,-1\n2,1\n" {
		t.Errorf("got %q", got)
	}
	one.names = []string{`a "b", c`, " d"}
	if got := text(t, one); got != "vertex,label,class\n0,0,\"a \"\"b\"\", c\"\n1,-1,\n2,1,\" d\"\n" {
		t.Errorf("with names: %q", got)
	}
	one.names = []string{"only one"} // of fewer classes than the model has
	if got := text(t, one); got != "vertex,label,class\n0,0,only one\n1,-1,\n2,1,\n" {
		t.Errorf("with too few names: %q", got)
	}
	several := newLabels(2, 3, true)
	several.put([]graph.NodeID{1, 0}, []float32{1, 0, nan, -1, 2, 0.001})
	if got := text(t, several); got != "vertex,label_0,label_1,label_2\n0,0,1,1\n1,1,0,0\n" {
		t.Errorf("several: %q", got)
	}
	several.names = []string{"blue", "da,rk", "red"}
	if got := text(t, several); got != "vertex,label_blue,\"label_da,rk\",label_red\n0,0,1,1\n1,1,0,0\n" {
		t.Errorf("several with names: %q", got)
	}
}

// Numbers in text read back as they were; an .npy has the shape and type of its rows.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	values := []float32{0.1, -3, nan, 1e-40, math.MaxFloat32, 16777217}
	rows := newRows(Embeddings, slices.Clone(values), 3)
	if want := "vertex,h_0,h_1\n0,0.1,-3\n1,NaN,1e-40\n2,3.4028235e+38,1.6777216e+07\n"; text(t, rows) != want {
		t.Errorf("got %q, want %q", text(t, rows), want)
	}
	one, several := newLabels(3, 2, false), newLabels(3, 2, true)
	for name, c := range map[string]struct {
		t     *table
		shape []int
		kind  string
	}{"rows.npy": {rows, []int{3, 2}, "<f4"}, "one.NPY": {one, []int{3}, "<i8"}, "several.npy": {several, []int{3, 2}, "|u1"}} {
		path := filepath.Join(dir, name)
		if err := c.t.write(path); err != nil {
			t.Fatal(err)
		}
		a, err := npy.Open(path)
		if err != nil || !slices.Equal(a.Shape, c.shape) || a.DType.String() != c.kind {
			t.Errorf("%s: %v, shape %v of %v, want %v of %s", name, err, a.Shape, a.DType, c.shape, c.kind)
		}
	}
	path := filepath.Join(dir, "absent", "labels.csv")
	if err := one.write(path); err == nil {
		t.Error("a file in a folder that is not there was written")
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("a folder was made")
	}
}

// Probabilities are those of the logits in float64, however large these are; with several labels each is for itself.
func TestProbabilities(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, c := range map[string]struct {
		logits, want []float32
		multi        bool
	}{
		"softmax":     {[]float32{0, 0, 1, 0}, []float32{0.5, 0.5, 0.7310586, 0.26894143}, false},
		"large":       {[]float32{3e38, -3e38, 1e30, 1e30}, []float32{1, 0, 0.5, 0.5}, false},
		"NaN":         {[]float32{nan, 1, 2, nan}, []float32{nan, nan, nan, nan}, false},
		"infinite":    {[]float32{inf, 1, -inf, 1}, []float32{nan, nan, 0, 1}, false},
		"sigmoid":     {[]float32{0, 1, -1000, 3e38}, []float32{0.5, 0.7310586, 0, 1}, true},
		"sigmoid NaN": {[]float32{nan, 0, inf, -inf}, []float32{nan, 0.5, 1, 0}, true},
	} {
		got := newRows(Probabilities, slices.Clone(c.logits), 2)
		got.probabilities(c.multi)
		if !slices.EqualFunc(got.float, c.want, func(a, b float32) bool { return a == b || a != a && b != b }) {
			t.Errorf("%s: %v, want %v", name, got.float, c.want)
		}
	}
	wide := make([]float32, 1000)
	for i := range wide {
		wide[i] = float32(i%7) - 3
	}
	many := newRows(Probabilities, wide, 1)
	many.probabilities(false)
	sum := 0.0
	for _, p := range many.float {
		sum += float64(p)
	}
	if math.Abs(sum-1) > 1e-6 {
		t.Errorf("1000 probabilities have the sum %v", sum)
	}
}

// A .csv file says what vertices and classes are called, where that is known.
func TestNamesInTables(t *testing.T) {
	ids := func(v int) string { return []string{"n1", `a,"b"`, ""}[v] }
	p := newRows(Probabilities, []float32{0.25, 0.75, 1, 0}, 2)
	for _, c := range []struct {
		names []string
		id    func(int) string
		want  string
	}{
		{nil, nil, "vertex,p_0,p_1\n0,0.25,0.75\n1,1,0\n"},
		{[]string{"north", "so,uth"}, ids, "vertex,id,p_north,\"p_so,uth\"\n0,n1,0.25,0.75\n1,\"a,\"\"b\"\"\",1,0\n"},
		{[]string{"one"}, nil, "vertex,p_0,p_1\n0,0.25,0.75\n1,1,0\n"},
	} {
		p.names, p.id = c.names, c.id
		if got := text(t, p); got != c.want {
			t.Errorf("%v: got %q, want %q", c.names, got, c.want)
		}
	}
	labels := newLabels(3, 2, false)
	labels.put([]graph.NodeID{0, 1, 2}, []float32{1, 0, 0, 1, 1, 0})
	labels.names, labels.id = []string{"north", "south"}, ids
	if got, want := text(t, labels), "vertex,id,label,class\n0,n1,0,north\n1,\"a,\"\"b\"\"\",1,south\n2,,0,north\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	logits := &table{rows: 1, cols: 2, column: "logit_", float: []float32{1, 2}, names: []string{"north", "south"}}
	if got, want := text(t, logits), "vertex,logit_0,logit_1\n0,1,2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
