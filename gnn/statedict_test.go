package gnn

import (
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// valuesIn returns the elements of a tensor of d.
func valuesIn(t *testing.T, d StateDict, name string) []float32 {
	t.Helper()
	v, err := Values(d[name])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func TestStateDictRoundTrip(t *testing.T) {
	for name, cfg := range layoutModels() {
		src, dst := NewWeights(cfg), NewWeights(cfg)
		src.Init(5)
		d := src.StateDict()
		if len(d) != len(src.Tensors) {
			t.Fatalf("%s: %d tensors, want %d", name, len(d), len(src.Tensors))
		}
		if err := dst.LoadStateDict(d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if dst.SHA256() != src.SHA256() || !slices.Equal(dst.Flat, src.Flat) {
			t.Errorf("%s: loaded weights differ", name)
		}
		last := src.Tensors[len(src.Tensors)-1]
		valuesIn(t, d, last.Name)[0] += 3
		if dst.SHA256() == src.SHA256() {
			t.Errorf("%s: the state_dict is a copy, or the loaded weights are not", name)
		}
	}
}

func TestLoadStateDictRefuses(t *testing.T) {
	w := NewWeights(layoutModels()["gin"])
	w.Init(2)
	before := w.SHA256()
	d := w.Clone().StateDict()
	delete(d, "convs.1.eps")
	d["convs.2.eps"] = tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1, 2}))
	d["convs.0.lin.weight"] = nil
	d["a"] = nil
	m := d["convs.0.nn.lins.0.weight"]
	d["convs.0.nn.lins.0.weight"] = tensor.New(tensor.WithShape(m.Shape()[1], m.Shape()[0]), tensor.WithBacking(m.Data()))
	d["convs.0.nn.lins.0.bias"] = tensor.New(tensor.WithShape(17), tensor.WithBacking(make([]float64, 17)))
	want := `tensor "convs.0.nn.lins.0.weight" has shape [5 17], want [17 5]
tensor "convs.0.nn.lins.0.bias": holds elements of type float64, want float32
tensor "convs.1.eps" is missing
tensor "convs.2.eps" has shape [2], want [1]
tensor "a" is not part of the model
tensor "convs.0.lin.weight" is not part of the model`
	if err := w.LoadStateDict(d); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if w.SHA256() != before {
		t.Error("a refused load changed the weights")
	}
}

// TestLoadStateDictScalar: eps is a scalar in PyTorch.
func TestLoadStateDictScalar(t *testing.T) {
	w := NewWeights(layoutModels()["gin"])
	for _, eps := range []*tensor.Dense{tensor.New(tensor.FromScalar(float32(0.5))), tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float32{0.5}))} {
		d := w.Clone().StateDict()
		d["convs.0.eps"] = eps
		got := w.Clone()
		if err := got.LoadStateDict(d); err != nil || got.Tensor("convs.0.eps").Data[0] != 0.5 {
			t.Errorf("eps of shape %v: %v, got %v", eps.Shape(), err, got.Tensor("convs.0.eps").Data)
		}
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
		if got, err := Values(c.d); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s of shape %v: got %v, %v, want %v", c.name, c.d.Shape(), got, err, c.want)
		}
	}
	if _, err := Values(tensor.New(tensor.WithShape(1), tensor.WithBacking([]int{1}))); err == nil || !strings.Contains(err.Error(), "want float32") {
		t.Errorf("integers: %v", err)
	}
}
