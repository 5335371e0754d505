package tensors

import (
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/named"
	"capgnn/pipeline"
)

// netOf returns a model of settings that are right.
func netOf(m named.Model) gnn.Config { return named.Config(m, gnn.NewModel) }

// Tensors of weights are their memory, have their shapes, and are taken as weights again.
func TestWeights(t *testing.T) {
	cfg := named.Model{Kind: named.GIN, Layers: 2, Hidden: 3, In: 5, Out: 2}
	w, again := gnn.NewWeights(netOf(cfg)), gnn.NewWeights(netOf(cfg))
	w.Init(1)
	named := Of(w.StateDict())
	for _, x := range w.Tensors {
		if got := named[x.Name]; got == nil || !slices.Equal(got.Shape(), x.Shape) {
			t.Errorf("%s: %v, want shape %v", x.Name, got, x.Shape)
		}
	}
	named["convs.0.nn.lins.0.weight"].Data().([]float32)[3] = 7
	if w.Tensor("convs.0.nn.lins.0.weight").Data[3] != 7 {
		t.Error("the tensors are copies")
	}
	named["convs.0.eps"] = Of(gnn.StateDict{"eps": {Data: []float32{0.5}}})["eps"] // [], as in PyTorch
	state, err := StateDict(named)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.LoadStateDict(state); err != nil || again.Tensor("convs.0.eps").Data[0] != 0.5 {
		t.Fatalf("%v, eps %v", err, again.Tensor("convs.0.eps").Data)
	}
	again.Tensor("convs.0.eps").Data[0] = w.Tensor("convs.0.eps").Data[0]
	if again.SHA256() != w.SHA256() {
		t.Error("other weights were loaded")
	}
	for _, name := range []string{"a", "b"} {
		named[name] = tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{1}))
	}
	want := "tensor \"a\": holds elements of type float64, want float32\ntensor \"b\": holds elements of type float64, want float32"
	if _, err := StateDict(named); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Features of a transposed tensor are its rows, and what is no table of float32 is refused.
func TestFeatures(t *testing.T) {
	x := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	if err := x.T(); err != nil {
		t.Fatal(err)
	}
	f, err := Features(x)
	if err != nil || f.Cols != 2 || !slices.Equal(f.Dense, []float32{1, 4, 2, 5, 3, 6}) {
		t.Errorf("got %+v, %v", f, err)
	}
	for want, x := range map[string]*tensor.Dense{
		"shape [3], want [vertices, columns]": tensor.New(tensor.WithShape(3), tensor.WithBacking([]float32{1, 2, 3})),
		"want float32":                        tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float64{1, 2})),
	} {
		if _, err := Features(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Predictions have a row for each vertex, the one that pipeline.Predict has, and its errors.
func TestPredict(t *testing.T) {
	g, err := graph.FromEdges(3, []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := host.Open(host.Spec{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := &pipeline.Problem{Graph: g, Loops: graph.LoopsAdded, Classes: 2, Features: pipeline.Features{Cols: 4, Dense: make([]float32, 12)}}
	o := pipeline.PredictOptions{Model: netOf(named.Model{Kind: named.GCN, Layers: 1, In: 4, Out: 2}), Devices: []gpu.Device{d}, Part: make([]int32, 3)}
	if rows, err := Predict(t.Context(), p, o); err == nil || rows != nil {
		t.Errorf("without weights: %v, %v", rows, err)
	}
	o.Weights = gnn.NewWeights(o.Model)
	copy(o.Weights.Tensor("convs.0.bias").Data, []float32{1, -2})
	rows, err := Predict(t.Context(), p, o)
	if err != nil || !slices.Equal(rows.Shape(), []int{3, 2}) || !slices.Equal(rows.Data().([]float32), []float32{1, -2, 1, -2, 1, -2}) {
		t.Errorf("got %v, %v", rows, err)
	}
}

// TestValues: views, transposed and column-major tensors give their elements row by row.
func TestValues(t *testing.T) {
	counting := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i)
		}
		return x
	}
	matrix := func() *tensor.Dense { return tensor.New(tensor.WithShape(3, 4), tensor.WithBacking(counting(12))) }
	slice := func(d *tensor.Dense, s ...tensor.Slice) *tensor.Dense {
		v, err := d.Slice(s...)
		if err != nil {
			t.Fatal(err)
		}
		return v.(*tensor.Dense)
	}
	transposed := matrix()
	if err := transposed.T(); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		d    *tensor.Dense
		want []float32
	}{
		{"row-major", matrix(), counting(12)},
		{"transposed", transposed, []float32{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
		{"rows", slice(matrix(), tensor.S(1, 3)), []float32{4, 5, 6, 7, 8, 9, 10, 11}},
		{"columns", slice(matrix(), nil, tensor.S(1, 3)), []float32{1, 2, 5, 6, 9, 10}},
		{"one column", slice(matrix(), nil, tensor.S(2)), []float32{2, 6, 10}},
		{"one row", slice(matrix(), tensor.S(2)), []float32{8, 9, 10, 11}},
		{"one element", slice(matrix(), tensor.S(1), tensor.S(1)), []float32{5}},
		{"column-major", tensor.New(tensor.WithShape(2, 3), tensor.AsFortran(counting(6))), counting(6)}, // which rearranges them
	}
	for _, c := range cases {
		if got, err := values(c.d); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s of shape %v: got %v, %v, want %v", c.name, c.d.Shape(), got, err, c.want)
		}
	}
	if _, err := values(tensor.New(tensor.WithShape(1), tensor.WithBacking([]int{1}))); err == nil || !strings.Contains(err.Error(), "want float32") {
		t.Errorf("integers: %v", err)
	}
}
