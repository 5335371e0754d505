package gnn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"capgnn/gpu"
)

// Tensor is one named parameter on the host. Data has the product of Shape elements, row-major, and aliases
// Weights.Flat.
type Tensor struct {
	Name  string // PyTorch Geometric BasicGNN state_dict name, e.g. "convs.0.lin.weight"
	Shape []int  // [out, in] for matrices; [1] for eps
	Data  []float32
	Off   int // first element in Weights.Flat, a multiple of 16 (64 bytes)
	Layer int // the first one that reads it, whose backward pass completes its gradient

	// bound is of the uniform distribution from which a tensor of a program is drawn whose name does not say it; 0:
	// it is constant.
	bound    float64
	constant float32
	start    []float64 // what it begins with, whatever it is called; nil: that is drawn
}

// Weights is the parameters of a model on the host: tensors laid one after another in one flat array, so that a
// reduction, an update or a broadcast is one operation. The gradient has the same layout. Elements of Flat that belong
// to no tensor are padding and stay 0: their gradient is 0, and every update rule keeps 0 at 0 then.
type Weights struct {
	Tensors []Tensor // in forward order: convs.0, norms.0, convs.1, …
	Flat    []float32
	layers  int
}

// tensorAlign is the alignment of tensors in Weights.Flat in elements: 64 bytes, what gpu.Device.Alloc guarantees for
// a block's start.
const tensorAlign = 16

// NewWeights returns the parameters of a model, all 0. cfg is valid; FlatLen tells the size beforehand.
func NewWeights(cfg Config) *Weights {
	w := &Weights{Tensors: layout(cfg), layers: cfg.Layers}
	n := 0
	for i := range w.Tensors {
		w.Tensors[i].Off = n
		n += int(padded(product(w.Tensors[i].Shape)))
	}
	w.Flat = make([]float32, n)
	w.alias()
	return w
}

// FlatLen returns the number of elements of NewWeights(cfg).Flat, padding included, without allocating it.
func FlatLen(cfg Config) (n int64) {
	for _, t := range layout(cfg) {
		n += padded(product(t.Shape))
	}
	return n
}

// layout lists the tensors of a model's program. One belongs to the first layer that reads it.
func layout(cfg Config) []Tensor { return slices.Clone(cfg.tensors) }

// product returns the number of elements of a shape.
func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// padded rounds n up to a multiple of tensorAlign.
func padded(n int) int64 { return int64(n+tensorAlign-1) / tensorAlign * tensorAlign }

// alias points the tensors at their places in Flat.
func (w *Weights) alias() {
	for i := range w.Tensors {
		t := &w.Tensors[i]
		end := t.Off + product(t.Shape)
		t.Data = w.Flat[t.Off:end:end]
	}
}

// Range is elements Lo to Hi of Weights.Flat, Hi excluded.
type Range struct{ Lo, Hi int }

// Layers returns the elements of Flat that belong to each of the layers, as ascending ranges with what lies behind a
// tensor as padding: together they are all of Flat. A layer without tensors has no range.
func (w *Weights) Layers() [][]Range {
	out := make([][]Range, w.layers)
	for i, t := range w.Tensors {
		end := len(w.Flat)
		if i+1 < len(w.Tensors) {
			end = w.Tensors[i+1].Off
		}
		ranges := out[t.Layer]
		if n := len(ranges); n > 0 && ranges[n-1].Hi == t.Off {
			ranges[n-1].Hi = end
			continue
		}
		out[t.Layer] = append(ranges, Range{t.Off, end})
	}
	return out
}

// Tensor returns the tensor of that name, nil if there is none.
func (w *Weights) Tensor(name string) *Tensor {
	for i := range w.Tensors {
		if w.Tensors[i].Name == name {
			return &w.Tensors[i]
		}
	}
	return nil
}

// Clone returns a copy that shares nothing with w but the shapes.
func (w *Weights) Clone() *Weights {
	c := &Weights{Tensors: slices.Clone(w.Tensors), Flat: slices.Clone(w.Flat), layers: w.layers}
	c.alias()
	return c
}

// byName returns the tensors in name order (bytewise).
func (w *Weights) byName() []*Tensor {
	ts := make([]*Tensor, len(w.Tensors))
	for i := range w.Tensors {
		ts[i] = &w.Tensors[i]
	}
	slices.SortFunc(ts, func(a, b *Tensor) int { return strings.Compare(a.Name, b.Name) })
	return ts
}

// SHA256 returns the identity of the weights in hex: SHA-256 over the tensors in name order, of each its name, its
// shape as int64 little endian and its elements as float32 little endian, without separators (docs/formats/run.md).
func (w *Weights) SHA256() string {
	h := sha256.New()
	for _, t := range w.byName() {
		h.Write([]byte(t.Name))
		for _, d := range t.Shape {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(d)))
		}
		writeFloats(h, t.Data) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Scratch returns what a device takes of the process at most for layers of so many rows, those that they read
// included, and sums of so many entries. Sparse features have no dense product with their weight.
func (cfg Config) Scratch(dev gpu.Scratcher, sparse bool, size func(layer int) (rows int, entries int64)) (most gpu.Bytes) {
	for _, t := range layout(cfg) {
		if len(t.Shape) == 2 && !(sparse && t.Layer == 0 && t.Shape[1] == cfg.In) {
			rows, entries := size(t.Layer)
			most = max(most, dev.Scratch(rows, entries, t.Shape[1], t.Shape[0]))
		}
	}
	return most
}
