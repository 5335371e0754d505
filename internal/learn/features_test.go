package learn

import (
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// Features of a transposed tensor are its rows, and what is no table of float32 is refused.
func TestDenseFeatures(t *testing.T) {
	x := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	if err := x.T(); err != nil {
		t.Fatal(err)
	}
	f, err := DenseFeatures(x)
	if err != nil || f.Cols != 2 || !slices.Equal(f.Dense, []float32{1, 4, 2, 5, 3, 6}) {
		t.Errorf("got %+v, %v", f, err)
	}
	for want, x := range map[string]*tensor.Dense{
		"shape [3], want [vertices, columns]": tensor.New(tensor.WithShape(3), tensor.WithBacking([]float32{1, 2, 3})),
		"want float32":                        tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float64{1, 2})),
	} {
		if _, err := DenseFeatures(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
