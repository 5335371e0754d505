package fields

import (
	"errors"
	"fmt"
	"slices"

	"capgnn/graph/dataset"
	"capgnn/internal/npy"
)

// SetNames are what the training, the validation and the test set are called; a store has the first of each.
var SetNames = [3][]string{{"train", "training"}, {"val", "valid", "validation", "dev"}, {"test", "testing"}}

// SetKeys returns the names of set k with these endings.
func SetKeys(k int, ends ...string) (keys []string) {
	for _, end := range ends {
		for _, name := range SetNames[k] {
			keys = append(keys, name+end)
		}
	}
	return keys
}

// SetEnds stand behind the names of sets: a mask, or the numbers of its vertices.
var SetEnds = []string{"_mask", "_idx"}

// ReadMasks reads the sets of n vertices by any of their names; an empty mask is none. Arrays of one set must be equal.
func ReadMasks(d *dataset.Dataset, src Arrays, n int) error {
	for k, m := range d.Masks() {
		first := ""
		for _, key := range SetKeys(k, SetEnds...) {
			if !src.Has(key) {
				continue
			}
			a, err := Vector(src, key, -1)
			if err != nil {
				return err
			}
			mask, err := readSet(a, n, slices.Contains(SetKeys(k, "_idx"), key))
			switch {
			case err != nil:
				return err
			case mask == nil:
			case first == "":
				*m.Of, first = mask, key
			case !slices.Equal(mask, *m.Of):
				return a.Fault(-1, fmt.Errorf("there is also %s.npy, with other vertices; keep one", first))
			}
		}
	}
	return nil
}

// readSet reads a mask, or numbers of vertices.
func readSet(a *npy.Array, n int, numbers bool) ([]bool, error) {
	if !numbers {
		if a.Len() != n && a.Len() != 0 {
			return nil, a.Fault(-1, fmt.Errorf("has %d entries, want %d or none; "+
				"numbers of vertices are train_idx, val_idx and test_idx", a.Len(), n))
		}
		if a.Len() == 0 {
			return nil, nil
		}
		return a.Bool()
	}
	if a.DType.Kind == 'b' {
		return nil, a.Fault(-1, errors.New("holds true and false, want numbers of vertices; "+
			"a mask is train_mask, val_mask or test_mask"))
	}
	mask := make([]bool, n)
	return mask, a.EachInt64(func(i int, piece []int64) error {
		for k, v := range piece {
			switch {
			case v < 0 || v >= int64(n):
				return a.Fault(i+k, fmt.Errorf("vertex %d is outside [0, %d)", v, n))
			case mask[v]:
				return a.Fault(i+k, fmt.Errorf("vertex %d is there twice; a mask is train_mask, val_mask or test_mask", v))
			}
			mask[v] = true
		}
		return nil
	})
}
