package tensors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gorgonia.org/tensor"

	"capgnn/gnn"
	"capgnn/pipeline"
)

// Of returns the tensors of a state_dict by name.
func Of(d gnn.StateDict) map[string]*tensor.Dense {
	out := make(map[string]*tensor.Dense, len(d))
	for name, t := range d {
		if len(t.Shape) == 0 {
			out[name] = tensor.New(tensor.FromScalar(t.Data[0]))
			continue
		}
		out[name] = tensor.New(tensor.WithShape(t.Shape...), tensor.WithBacking(t.Data))
	}
	return out
}

// StateDict returns tensors as gnn.Weights.LoadStateDict and the options of runs take them. The error lists every tensor that is not
// of float32.
func StateDict(tensors map[string]*tensor.Dense) (gnn.StateDict, error) {
	var errs []error
	d := make(gnn.StateDict, len(tensors))
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		data, err := values(tensors[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("tensor %q: %w", name, err))
			continue
		}
		d[name] = &gnn.Tensor{Name: name, Shape: tensors[name].Shape(), Data: data}
	}
	return d, errors.Join(errs...)
}

// Features returns the rows of x, [vertices, columns], as features.
func Features(x *tensor.Dense) (pipeline.Features, error) {
	if x.Dims() != 2 {
		return pipeline.Features{}, fmt.Errorf("features: shape %v, want [vertices, columns]", []int(x.Shape()))
	}
	rows, err := values(x)
	if err != nil {
		return pipeline.Features{}, fmt.Errorf("features: %w", err)
	}
	return pipeline.Features{Cols: x.Shape()[1], Dense: rows}, nil
}

// Predict is pipeline.Predict with a tensor as its result: [vertices, outputs], or with o.Layers the width of that layer; nil on
// ranks other than 0.
func Predict(ctx context.Context, p *pipeline.Problem, o pipeline.PredictOptions) (*tensor.Dense, error) {
	rows, err := pipeline.Predict(ctx, p, o)
	if rows == nil {
		return nil, err
	}
	return tensor.New(tensor.WithShape(p.Vertices(), len(rows)/p.Vertices()), tensor.WithBacking(rows)), nil
}

// values returns the elements of a float32 tensor, row-major.
func values(t *tensor.Dense) ([]float32, error) {
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
