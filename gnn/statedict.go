package gnn

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// StateDict is the parameters of a model by name, as PyTorch Geometric's state_dict of a BasicGNN has them, such as
// "convs.0.lin.weight" with shape [out, in]. Of its tensors only Shape and Data are read.
type StateDict map[string]*Tensor

// StateDict returns the parameters by name. They are the tensors of w: what is written to their Data changes w.
func (w *Weights) StateDict() StateDict {
	d := make(StateDict, len(w.Tensors))
	for i := range w.Tensors {
		d[w.Tensors[i].Name] = &w.Tensors[i]
	}
	return d
}

// LoadStateDict copies the values of d. Every tensor of the model must be there with its shape and nothing else may be;
// otherwise w is unchanged and the error lists every problem. A tensor of one element may have any shape with one element:
// eps is [] in PyTorch and [1] here. The batches that torch counts beside running statistics have no use here.
func (w *Weights) LoadStateDict(d StateDict) error {
	if err := w.takes(d); err != nil {
		return err
	}
	for _, t := range w.Tensors {
		copy(t.Data, d[t.Name].Data)
	}
	return nil
}

// CheckStateDict is the error of LoadStateDict of a model, which is not made.
func CheckStateDict(cfg Config, d StateDict) error { return (&Weights{Tensors: layout(cfg)}).takes(d) }

// takes says what keeps d from being loaded; nil: nothing.
func (w *Weights) takes(d StateDict) error {
	var errs []error
	for i := range w.Tensors {
		errs = append(errs, w.Tensors[i].takes(d))
	}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if module, ok := counts(name); w.Tensor(name) == nil && !(ok && w.Tensor(module+"running_mean") != nil) {
			errs = append(errs, fmt.Errorf("tensor %q is not part of the model", name))
		}
	}
	return errors.Join(errs...)
}

// takes says what keeps the tensor of d with t's name from being loaded.
func (t *Tensor) takes(d StateDict) error {
	v := d[t.Name]
	if v == nil {
		return fmt.Errorf("tensor %q is missing", t.Name)
	}
	if !slices.Equal(v.Shape, t.Shape) && !(product(t.Shape) == 1 && product(v.Shape) == 1) {
		return fmt.Errorf("tensor %q has shape %v, want %v", t.Name, v.Shape, t.Shape)
	}
	if n := product(t.Shape); len(v.Data) != n {
		return fmt.Errorf("tensor %q has %d elements, want %d", t.Name, len(v.Data), n)
	}
	return nil
}

// counts reports whether a tensor has that name under which torch's BatchNorm counts batches, and of which module.
func counts(name string) (module string, ok bool) {
	return strings.CutSuffix(name, "num_batches_tracked")
}
