package gnn

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/internal/npy"
)

// ReadStateDict returns the tensors of a weights file by state_dict name, with their shapes, for Weights.LoadStateDict. The
// file is .safetensors, or .npz with float arrays under plain names or under "param/NAME"; where any name begins with
// "param/" the others are not read. Integers are not read where torch counts batches by them. Every number must be
// finite.
func ReadStateDict(path string) (StateDict, error) {
	var ts StateDict
	var err error
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".safetensors":
		ts, err = ReadSafetensors(path)
	case ".npz":
		ts, err = readArchive(path)
	default:
		return nil, fmt.Errorf("%s: weights are read from .npz or .safetensors files", path)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(ts)) {
		for i, v := range ts[name].Data {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return nil, fmt.Errorf("%s: tensor %q: element %d is %g in float32, must be finite", path, name, i, v)
			}
		}
	}
	return ts, nil
}

// paramPrefix stands before the names of weights in the golden files.
const paramPrefix = "param/"

// readArchive returns the float arrays of an .npz file; under paramPrefix alone where there are such.
func readArchive(path string) (StateDict, error) {
	z, err := npy.OpenArchive(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	prefix := ""
	if slices.ContainsFunc(z.Keys(), func(key string) bool { return strings.HasPrefix(key, paramPrefix) }) {
		prefix = paramPrefix
	}
	out := StateDict{}
	for _, key := range z.Keys() {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		a, err := z.Array(key)
		if err != nil {
			return nil, err
		}
		if _, ok := counts(name); ok && a.DType.Kind == 'i' {
			continue
		}
		if a.DType.Kind != 'f' {
			return nil, a.Fault(-1, fmt.Errorf("holds elements of type %v, weights are float32 or float64", a.DType))
		}
		data, err := a.Float32()
		if err != nil {
			return nil, err
		}
		if len(data) == 0 {
			return nil, a.Fault(-1, fmt.Errorf("has shape %v, so no element: remove it from the file", a.Shape))
		}
		out[name] = &Tensor{Name: name, Shape: a.Shape, Data: data}
	}
	return out, nil
}
