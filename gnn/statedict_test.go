package gnn

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/named"
	"capgnn/internal/npy"
)

func TestStateDictRoundTrip(t *testing.T) {
	for name, cfg := range layoutModels() {
		src, dst := NewWeights(netOf(cfg)), NewWeights(netOf(cfg))
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
		d[last.Name].Data[0] += 3
		if dst.SHA256() == src.SHA256() {
			t.Errorf("%s: the state_dict is a copy, or the loaded weights are not", name)
		}
	}
}

func TestLoadStateDictRefuses(t *testing.T) {
	w := NewWeights(netOf(layoutModels()["gin"]))
	w.Init(2)
	before := w.SHA256()
	d := w.Clone().StateDict()
	delete(d, "convs.1.eps")
	d["convs.2.eps"] = &Tensor{Shape: []int{2}, Data: []float32{1, 2}}
	d["convs.0.lin.weight"] = nil
	d["a"] = nil
	m := d["convs.0.nn.lins.0.weight"]
	d["convs.0.nn.lins.0.weight"] = &Tensor{Shape: []int{m.Shape[1], m.Shape[0]}, Data: m.Data}
	d["convs.0.nn.lins.0.bias"] = &Tensor{Shape: []int{17}, Data: make([]float32, 16)}
	want := `tensor "convs.0.nn.lins.0.weight" has shape [5 17], want [17 5]
tensor "convs.0.nn.lins.0.bias" has 16 elements, want 17
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
	w := NewWeights(netOf(layoutModels()["gin"]))
	for _, shape := range [][]int{{}, {1, 1}} {
		d := w.Clone().StateDict()
		d["convs.0.eps"] = &Tensor{Shape: shape, Data: []float32{0.5}}
		got := w.Clone()
		if err := got.LoadStateDict(d); err != nil || got.Tensor("convs.0.eps").Data[0] != 0.5 {
			t.Errorf("eps of shape %v: %v, got %v", shape, err, got.Tensor("convs.0.eps").Data)
		}
	}
}

// The batches that torch counts beside running statistics are no weights, and are refused where no statistics are.
func TestLoadStateDictCounts(t *testing.T) {
	cfg := named.Model{Kind: named.GCN, BatchNorm: true, Layers: 2, Hidden: 1, In: 1, Out: 1}
	const name = "norms.0.module.num_batches_tracked"
	w, dir := NewWeights(netOf(cfg)), t.TempDir()
	w.Init(2)
	entries := []npy.Entry{{Key: name, Data: []int64{7}}}
	header, data := `"`+name+`":{"dtype":"I64","shape":[],"data_offsets":[0,8]}`, make([]byte, 8)
	for _, x := range w.Tensors {
		entries = append(entries, npy.Entry{Key: x.Name, Shape: x.Shape, Data: x.Data})
		shape := strings.ReplaceAll(fmt.Sprint(x.Shape), " ", ",")
		header += fmt.Sprintf(`,%q:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, x.Name, shape, len(data), len(data)+4)
		data = append(data, 0, 0, 0x80, 0x3f)
	}
	if err := npy.WriteArchiveFile(filepath.Join(dir, "w.npz"), entries, npy.Archiving{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "w.safetensors"), safetensorsFile("{"+header+"}", data...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"w.npz", "w.safetensors"} {
		d, err := ReadStateDict(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.LoadStateDict(d); err != nil || d[name] != nil {
			t.Errorf("%s: %v, or the count is a weight", file, err)
		}
	}
	d := w.Clone().StateDict()
	d[name] = &Tensor{Data: []float32{7}}
	if err := w.LoadStateDict(d); err != nil {
		t.Errorf("as float32: %v", err)
	}
	d["norms.1.num_batches_tracked"] = d[name]
	if err := w.LoadStateDict(d); err == nil || !strings.Contains(err.Error(), "norms.1.num_batches_tracked") {
		t.Errorf("of no statistics: %v", err)
	}
}
