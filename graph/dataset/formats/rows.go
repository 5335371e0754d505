package formats

import (
	"errors"
	"math"

	"capgnn/graph/dataset"
	"capgnn/internal/room"
)

// scaleRows divides each row of features by the sum of its absolute values; a row of zeros stays. Dense rows are changed where they lie, sparse ones may be mapped and
// get new values. path stands for the data set in errors.
func scaleRows(d *dataset.Dataset, path string) error {
	f := &d.Features
	if !f.Present() {
		return &dataset.FormatError{File: path, Offset: -1, Err: errors.New("has no features whose rows could be scaled; use --standardize none")}
	}
	if f.Sparse() {
		if err := room.For(4 * int64(len(f.Data))); err != nil {
			return &dataset.FormatError{File: path, Offset: -1, Err: err}
		}
		values := make([]float32, len(f.Data))
		for v := range len(f.Indptr) - 1 {
			scaleRow(values[f.Indptr[v]:f.Indptr[v+1]], f.Data[f.Indptr[v]:f.Indptr[v+1]])
		}
		f.Data = values
	} else {
		for at := 0; at < len(f.Dense); at += f.Cols {
			scaleRow(f.Dense[at:at+f.Cols], f.Dense[at:at+f.Cols])
		}
	}
	d.FoundFinite(false)
	noteTwice(d, dataset.StandardizeRows)
	d.Note("features: every row was divided by the sum of its absolute values (--standardize none keeps them as stored)")
	return nil
}

// scaleRow writes to out, which may be row, what a row becomes. It is computed in float64.
func scaleRow(out, row []float32) {
	sum := 0.0
	for _, x := range row {
		sum += math.Abs(float64(x))
	}
	if sum == 0 {
		sum = 1
	}
	for i, x := range row {
		out[i] = float32(float64(x) / sum)
	}
}
