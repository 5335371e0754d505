package tables

import (
	"fmt"
	"math"
	"path/filepath"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
)

// matrix holds a row of features for each line of Nodes.
type matrix struct {
	cols   int
	values []float32 // row by row; nil: they are in exact
	exact  []float64
	wide   bool // float32 does not hold all values as they are
}

func (m *matrix) at(row, col int) float64 {
	if m.exact != nil {
		return m.exact[row*m.cols+col]
	}
	return float64(m.values[row*m.cols+col])
}

// readMatrix reads the .npy of features of so many lines.
func readMatrix(t *Tables, lines int) (*matrix, error) {
	a, err := fields.OpenArray(dataset.Options{Watch: t.Watch}, t.Features)
	if err != nil {
		return nil, err
	}
	m := &matrix{cols: 1}
	if len(a.Shape) == 2 {
		m.cols = a.Shape[1]
	}
	if len(a.Shape) < 1 || len(a.Shape) > 2 || a.Shape[0] != lines || m.cols < 1 || m.cols > check.MaxCols {
		return nil, a.Fault(-1, fmt.Errorf("has shape %v, want a row for each of the %d lines of %s and 1 to %d columns",
			a.Shape, lines, filepath.Base(t.Nodes), check.MaxCols))
	}
	if a.DType.Kind == 'f' && a.DType.Size <= 4 {
		if m.values, err = a.Float32(); err != nil {
			return nil, err
		}
	} else if m.exact, err = a.Float64(); err != nil {
		return nil, err
	}
	return m, m.check(a, lines)
}

// check refuses values that float32 does not hold at all.
func (m *matrix) check(a *npy.Array, lines int) error {
	for i := range lines * m.cols {
		row, col := i/m.cols, i%m.cols
		x := m.at(row, col)
		if !check.Finite(float32(x)) {
			return a.Fault(i, fmt.Errorf("row %d, column %d is %g; features must be finite, and at most %.1e",
				row, col, x, math.MaxFloat32))
		}
		m.wide = m.wide || float64(float32(x)) != x
	}
	return nil
}
