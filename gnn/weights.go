package gnn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
)

// Tensor is one named parameter on the host. Data has the product of Shape elements, row-major, and aliases Weights.Flat.
type Tensor struct {
	Name  string // PyTorch Geometric BasicGNN state_dict name, e.g. "convs.0.lin.weight"
	Shape []int  // [out, in] for matrices; [1] for eps
	Data  []float32
	Off   int // first element in Weights.Flat, a multiple of 16 (64 bytes)
	Layer int // that it belongs to: of norms.l, layer l
}

// Weights is the parameters of a model on the host: tensors laid one after another in one flat array, so that a
// reduction, an update or a broadcast is one operation. The gradient has the same layout. Elements of Flat that belong
// to no tensor are padding and stay 0: their gradient is 0, and every update rule keeps 0 at 0 then.
type Weights struct {
	Tensors []Tensor // in forward order: convs.0, norms.0, convs.1, …
	Flat    []float32
}

// tensorAlign is the alignment of tensors in Weights.Flat in elements: 64 bytes, what gpu.Device.Alloc guarantees for a
// block's start.
const tensorAlign = 16

// NewWeights returns the parameters of a model, all 0. cfg is valid; FlatLen tells the size beforehand.
func NewWeights(cfg Config) *Weights {
	w := &Weights{Tensors: layout(cfg)}
	n := 0
	for i := range w.Tensors {
		w.Tensors[i].Off = n
		n += int(padded(product(w.Tensors[i].Shape)))
	}
	w.Flat = make([]float32, n)
	w.alias()
	return w
}

// FlatLen returns the number of elements of NewWeights(cfg).Flat, padding included, without allocating it;
// math.MaxInt64 if that is more than an int64 holds.
func FlatLen(cfg Config) int64 {
	var n int64
	for _, t := range layout(cfg) {
		k := padded(product(t.Shape))
		if k > math.MaxInt64-n {
			return math.MaxInt64
		}
		n += k
	}
	return n
}

// layout lists the names and shapes of a model's tensors, as a PyTorch Geometric BasicGNN has them.
func layout(cfg Config) []Tensor {
	var ts []Tensor
	for l := range cfg.Layers {
		add := func(name string, shape ...int) { ts = append(ts, Tensor{Name: name, Shape: shape, Layer: l}) }
		in, out := cfg.Width(l)
		last := l == cfg.Layers-1
		conv := fmt.Sprintf("convs.%d.", l)
		switch cfg.Kind {
		case GCN:
			add(conv+"lin.weight", out, in)
			add(conv+"bias", out)
		case SAGE:
			add(conv+"lin_l.weight", out, in)
			add(conv+"lin_l.bias", out)
			add(conv+"lin_r.weight", out, in)
		case GIN:
			add(conv+"eps", 1)
			add(conv+"nn.lins.0.weight", out, in)
			add(conv+"nn.lins.0.bias", out)
			add(conv+"nn.lins.1.weight", out, out)
			add(conv+"nn.lins.1.bias", out)
		case GAT:
			head := out // the last layer averages its heads, each of the output width
			if !last {
				head = out / cfg.Heads
			}
			add(conv+"lin.weight", saturatingMul(cfg.Heads, head), in)
			add(conv+"att_src", 1, cfg.Heads, head)
			add(conv+"att_dst", 1, cfg.Heads, head)
			add(conv+"bias", out)
		default:
			panic(fmt.Sprintf("gnn: model %q", cfg.Kind))
		}
		if !last {
			add(fmt.Sprintf("norms.%d.weight", l), out)
			add(fmt.Sprintf("norms.%d.bias", l), out)
		}
	}
	return ts
}

// saturatingMul returns a·b, or math.MaxInt where that overflows; a, b ≥ 0.
func saturatingMul(a, b int) int {
	if a != 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}

// product returns the number of elements of a shape, math.MaxInt where that overflows.
func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n = saturatingMul(n, d)
	}
	return n
}

// padded rounds n up to a multiple of tensorAlign.
func padded(n int) int64 {
	if n > math.MaxInt-tensorAlign {
		return math.MaxInt64
	}
	return int64(n+tensorAlign-1) / tensorAlign * tensorAlign
}

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

// Layers returns the elements of Flat that belong to each of the layers, as ascending ranges with what lies behind a tensor
// as padding: together they are all of Flat.
func (w *Weights) Layers() [][]Range {
	var out [][]Range
	for i, t := range w.Tensors {
		end := len(w.Flat)
		if i+1 < len(w.Tensors) {
			end = w.Tensors[i+1].Off
		}
		for len(out) <= t.Layer {
			out = append(out, nil)
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
	c := &Weights{Tensors: slices.Clone(w.Tensors), Flat: slices.Clone(w.Flat)}
	c.alias()
	return c
}

// Load copies values by name, row-major. Every tensor must be there with its number of elements and nothing else may be;
// otherwise w is unchanged and the error lists every problem.
func (w *Weights) Load(values map[string][]float32) error {
	err := w.check(maps.Keys(values), func(t *Tensor) (bool, string) {
		v, ok := values[t.Name]
		if ok && len(v) != len(t.Data) {
			return true, fmt.Sprintf("has %d elements, want %d", len(v), len(t.Data))
		}
		return ok, ""
	})
	if err != nil {
		return err
	}
	for i := range w.Tensors {
		copy(w.Tensors[i].Data, values[w.Tensors[i].Name])
	}
	return nil
}

// LoadTensors is Load that also compares shapes, so that a transposed matrix is an error. A tensor of one element may
// have any shape with one element: eps is [] in PyTorch and [1] here.
func (w *Weights) LoadTensors(values map[string]HostTensor) error {
	err := w.check(maps.Keys(values), func(t *Tensor) (bool, string) {
		v, ok := values[t.Name]
		if ok && !(len(t.Data) == 1 && len(v.Data) == 1) && !slices.Equal(v.Shape, t.Shape) {
			return true, fmt.Sprintf("has shape %v, want %v", v.Shape, t.Shape)
		}
		return ok, ""
	})
	if err != nil {
		return err
	}
	return w.Load(flatten(values))
}

// check joins the problems of a set of named values: absent tensors and what look says of the others in the order of
// w.Tensors, then unknown names in name order.
func (w *Weights) check(names iter.Seq[string], look func(*Tensor) (found bool, problem string)) error {
	var errs []error
	for i := range w.Tensors {
		t := &w.Tensors[i]
		found, problem := look(t)
		switch {
		case !found:
			errs = append(errs, fmt.Errorf("tensor %q is missing", t.Name))
		case problem != "":
			errs = append(errs, fmt.Errorf("tensor %q %s", t.Name, problem))
		}
	}
	for _, name := range slices.Sorted(names) {
		if w.Tensor(name) == nil {
			errs = append(errs, fmt.Errorf("tensor %q is not part of the model", name))
		}
	}
	return errors.Join(errs...)
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

// SHA256 returns the identity of the weights in hex: SHA-256 over the tensors in name order, of each its name, its shape
// as int64 little endian and its elements as float32 little endian, without separators (DESIGN.md 8).
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
