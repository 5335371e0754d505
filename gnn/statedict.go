package gnn

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gorgonia.org/tensor"
)

// StateDict is the parameters of a model by name, as PyTorch Geometric's state_dict of a BasicGNN has them: float32 tensors
// such as "convs.0.lin.weight" with shape [out, in].
type StateDict map[string]*tensor.Dense

// StateDict returns the parameters by name. The tensors share memory with w: what is written to them changes w.
func (w *Weights) StateDict() StateDict {
	d := make(StateDict, len(w.Tensors))
	for _, t := range w.Tensors {
		d[t.Name] = tensor.New(tensor.WithShape(t.Shape...), tensor.WithBacking(t.Data))
	}
	return d
}

// LoadStateDict copies the values of d, which may be views or transposed. Every tensor of the model must be there with its
// shape and nothing else may be; otherwise w is unchanged and the error lists every problem. A tensor of one element may have
// any shape with one element: eps is [] in PyTorch and [1] here.
func (w *Weights) LoadStateDict(d StateDict) error {
	values, err := w.valuesOf(d)
	if err != nil {
		return err
	}
	for i := range w.Tensors {
		copy(w.Tensors[i].Data, values[i])
	}
	return nil
}

// CheckStateDict is the error of LoadStateDict of a model, which is not made.
func CheckStateDict(cfg Config, d StateDict) error {
	_, err := (&Weights{Tensors: layout(cfg)}).valuesOf(d)
	return err
}

// valuesOf returns the values that d has for each tensor.
func (w *Weights) valuesOf(d StateDict) ([][]float32, error) {
	var errs []error
	values := make([][]float32, len(w.Tensors))
	for i := range w.Tensors {
		var err error
		if values[i], err = w.Tensors[i].valuesOf(d); err != nil {
			errs = append(errs, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if w.Tensor(name) == nil {
			errs = append(errs, fmt.Errorf("tensor %q is not part of the model", name))
		}
	}
	return values, errors.Join(errs...)
}

// valuesOf returns the values that d has for t, row-major.
func (t *Tensor) valuesOf(d StateDict) ([]float32, error) {
	v := d[t.Name]
	if v == nil {
		return nil, fmt.Errorf("tensor %q is missing", t.Name)
	}
	if !slices.Equal([]int(v.Shape()), t.Shape) && !(product(t.Shape) == 1 && v.Shape().TotalSize() == 1) {
		return nil, fmt.Errorf("tensor %q has shape %v, want %v", t.Name, []int(v.Shape()), t.Shape)
	}
	values, err := Values(v)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return values, nil
}

// Values returns the elements of a float32 tensor, row-major. They share memory with t where they lie in that order; those of
// views and of transposed or column-major tensors are copied.
func Values(t *tensor.Dense) ([]float32, error) {
	if t.Dtype() != tensor.Float32 {
		return nil, fmt.Errorf("holds elements of type %v, want float32", t.Dtype())
	}
	if t.IsScalar() {
		return []float32{t.ScalarValue().(float32)}, nil
	}
	data := t.Data().([]float32)
	if !t.RequiresIterator() && t.DataOrder().IsRowMajor() {
		return data[:t.Shape().TotalSize()], nil
	}
	out := make([]float32, 0, t.Shape().TotalSize())
	it := t.Iterator()
	for i, err := it.Next(); err == nil; i, err = it.Next() {
		out = append(out, data[i])
	}
	if len(out) != cap(out) {
		return nil, fmt.Errorf("a view of shape %v gave %d elements", []int(t.Shape()), len(out))
	}
	return out, nil
}

// newDense returns a tensor of that shape, empty for a scalar, over its elements, row-major.
func newDense[D int | int64](shape []D, data []float32) *tensor.Dense {
	if len(shape) == 0 {
		return tensor.New(tensor.FromScalar(data[0]))
	}
	dims := make([]int, len(shape))
	for i, d := range shape {
		dims[i] = int(d)
	}
	return tensor.New(tensor.WithShape(dims...), tensor.WithBacking(data))
}
