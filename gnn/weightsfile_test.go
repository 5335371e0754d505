package gnn

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/golden"
	"capgnn/internal/named"
	"capgnn/internal/npy"
	"capgnn/model"
)

// weightsConfig returns the model of a golden case.
func weightsConfig(c *golden.Case) named.Model {
	d := c.Dims()
	return named.Model{Kind: named.Kind(c.Kind), Layers: d.Layers, Hidden: d.Hidden, In: d.In, Out: d.Out, Heads: d.Heads, Alpha: c.Alpha, Theta: c.Theta, Residual: c.Residual, Activation: model.Op(c.Activation), Multi: c.Multi(), JK: c.JK(), Norm: c.Norm()}
}

func weightsCases(t *testing.T) []golden.Case {
	t.Helper()
	cases, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestLayoutIsGolden: names, order and shapes of all four models are those of PyTorch Geometric ([] is [1] for eps).
func TestLayoutIsGolden(t *testing.T) {
	for _, c := range weightsCases(t) {
		w := NewWeights(netOf(weightsConfig(&c)))
		if len(w.Tensors) != len(c.Params) {
			t.Errorf("%s: %d tensors, want %d", c.Name, len(w.Tensors), len(c.Params))
			continue
		}
		for i, p := range c.Params {
			want := p.Shape
			if strings.HasSuffix(p.Name, ".eps") {
				want = []int{1}
			}
			if x := w.Tensors[i]; x.Name != p.Name || !slices.Equal(x.Shape, want) {
				t.Errorf("%s: tensor %d is %s %v, want %s %v", c.Name, i, x.Name, x.Shape, p.Name, want)
			}
		}
	}
}

// TestReadStateDictGolden: a golden file is a weights file, and so is its safetensors copy and one with plain names.
func TestReadStateDictGolden(t *testing.T) {
	for _, c := range weightsCases(t) {
		cfg := weightsConfig(&c)
		w := NewWeights(netOf(cfg))
		values, err := ReadStateDict(filepath.Join("..", "testdata", "golden", c.Name+".npz"))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.LoadStateDict(values); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for _, p := range c.Params {
			for k, v := range p.Data {
				if got := w.Tensor(p.Name).Data[k]; got != float32(v) {
					t.Fatalf("%s %s[%d]: got %g, want %g", c.Name, p.Name, k, got, v)
				}
			}
		}

		plain := filepath.Join(t.TempDir(), "plain.NPZ")
		var entries []npy.Entry
		for _, x := range w.Tensors {
			entries = append(entries, npy.Entry{Key: x.Name, Shape: x.Shape, Data: x.Data})
		}
		if err := npy.WriteArchiveFile(plain, entries, npy.Archiving{Deflate: true}); err != nil {
			t.Fatal(err)
		}
		st := filepath.Join(t.TempDir(), "w.safetensors")
		if err := WriteSafetensors(st, w, nil); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{plain, st} {
			ts, err := ReadStateDict(path)
			if err != nil {
				t.Fatal(err)
			}
			again := NewWeights(netOf(cfg))
			if err := again.LoadStateDict(ts); err != nil || again.SHA256() != w.SHA256() {
				t.Errorf("%s from %s: %v, or other weights", c.Name, filepath.Ext(path), err)
			}
		}
	}
}

func TestReadStateDictRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data any) string {
		path := filepath.Join(dir, name)
		if err := npy.WriteArchiveFile(path, []npy.Entry{{Key: "param/w", Data: data}, {Key: "other", Data: []int64{1}}}, npy.Archiving{}); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := filepath.Join(dir, "w.pt")
	if err := os.WriteFile(text, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, path, want string }{
		{"NaN", write("nan.npz", []float32{1, quietNaN}), `tensor "w": element 1 is NaN`},
		{"too large for float32", write("large.npz", []float64{math.MaxFloat64}), "does not fit float32"},
		{"integers", write("int.npz", []int64{1}), "weights are float32 or float64"},
		{"no element", write("empty.npz", []float32{}), "no element"},
		{"other kind of file", text, "read from .npz or .safetensors"},
		{"absent", filepath.Join(dir, "none.npz"), "none.npz"},
		{"a folder", dir + "/../" + filepath.Base(dir) + "/.safetensors", "safetensors"},
	}
	for _, c := range cases {
		if _, err := ReadStateDict(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if ts, err := ReadStateDict(write("good.npz", []float64{1, 2})); err != nil || len(ts) != 1 || len(ts["w"].Data) != 2 {
		t.Errorf("got %v, %v, want the tensor w alone", ts, err)
	}
}
