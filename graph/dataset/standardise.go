package dataset

import (
	"errors"
	"fmt"
	"math"
)

// Values of Options.Standardize, besides Auto.
const (
	// StandardizeNone keeps features as stored.
	StandardizeNone = "none"
	// StandardizeTrain takes (x - mean) / deviation of each column, both of the training rows.
	StandardizeTrain = "train"
)

// standardise standardises dense float32 features that were read. path stands for the data set in errors.
func (d *Dataset) standardise(path string) error {
	fault := func(err error) error { return &FormatError{File: path, Offset: -1, Err: err} }
	switch {
	case !d.Features.Present():
		return fault(errors.New("has no features to standardise; use --standardize none"))
	case d.Features.Sparse():
		return fault(errors.New("has sparse features, which standardising would make dense; use --standardize none"))
	case d.Train == nil:
		return fault(errors.New("has no train_mask, whose rows standardising needs; use --standardize none"))
	}
	all := func(visit func(i int, v []float32) error) error { return visit(0, d.Features.Dense) }
	out, i, err := standardised(all, len(d.Features.Dense), d.Features.Cols, d.Train)
	if err != nil && i >= 0 {
		err = fmt.Errorf("row %d, column %d: %w", i/d.Features.Cols, i%d.Features.Cols, err)
	}
	if err != nil {
		return fault(err)
	}
	d.Features.Dense = out
	d.noteStandardised()
	return nil
}

func (d *Dataset) noteStandardised() {
	d.note("features: every column was standardised with mean and deviation of the %d training rows (--standardize none keeps them as stored)",
		countTrue(d.Train))
}

// stream calls visit with all values of a matrix, row by row, in pieces; i is the index of the first value of a piece.
type stream[T float32 | float64] func(visit func(i int, v []T) error) error

// standardised returns (x - mean) / deviation per column of n values as float32, computed in float64. Mean and deviation
// are those of the rows in train, the deviation that of a population (divided by the number of rows). A column without
// deviation is only centred. On an error, i is the element it is about, -1 if none. x is streamed three times.
func standardised[T float32 | float64](x stream[T], n, cols int, train []bool) (out []float32, i int, err error) {
	if countTrue(train) == 0 {
		return nil, -1, errors.New("there are no training vertices to standardise with; use --standardize none")
	}
	bad := -1
	mean, deviation, err := moments(x, cols, train, &bad)
	if err != nil {
		return nil, bad, err
	}
	for c, s := range deviation {
		if math.IsInf(s, 0) || math.IsNaN(s) {
			return nil, -1, fmt.Errorf("column %d: the values are too large to standardise; use --standardize none", c)
		}
	}
	out = make([]float32, n)
	err = x(func(i int, values []T) error {
		c := i % cols
		for k, v := range values {
			f := float64(v) - mean[c]
			if deviation[c] > 0 {
				f /= deviation[c]
			}
			if out[i+k] = float32(f); math.Abs(f) > math.MaxFloat32 || math.IsNaN(f) {
				bad = i + k
				return fmt.Errorf("value %g, standardised with mean %g and deviation %g, does not fit float32", float64(v), mean[c], deviation[c])
			}
			if c++; c == cols {
				c = 0
			}
		}
		return nil
	})
	if err != nil {
		return nil, bad, err
	}
	return out, -1, nil
}

// moments returns mean and population deviation of every column over the rows in train, which are at least one. A value
// that is not finite is an error; bad is its index then.
//
// Method: two passes, sums in row order. A column of equal values has exactly that mean and deviation 0: the rounded sum
// would leave a tiny deviation, which would blow up other rows.
func moments[T float32 | float64](x stream[T], cols int, train []bool, bad *int) (mean, deviation []float64, err error) {
	mean, deviation = make([]float64, cols), make([]float64, cols)
	first, equal, begun := make([]T, cols), make([]bool, cols), -1
	err = x(func(i int, values []T) error {
		r, c := i/cols, i%cols
		for k, v := range values {
			f := float64(v)
			if math.IsNaN(f) || math.IsInf(f, 0) {
				*bad = i + k
				return fmt.Errorf("value %g; features must be finite", f)
			}
			if train[r] {
				if begun < 0 {
					begun = r
				}
				if begun == r {
					first[c], equal[c] = v, true
				}
				mean[c] += f
				equal[c] = equal[c] && v == first[c]
			}
			if c++; c == cols {
				r, c = r+1, 0
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	count := float64(countTrue(train))
	for c := range mean {
		mean[c] /= count
		if equal[c] {
			mean[c] = float64(first[c])
		}
	}
	err = x(func(i int, values []T) error {
		r, c := i/cols, i%cols
		for _, v := range values {
			if train[r] {
				e := float64(v) - mean[c]
				deviation[c] += e * e
			}
			if c++; c == cols {
				r, c = r+1, 0
			}
		}
		return nil
	})
	for c := range deviation {
		deviation[c] = math.Sqrt(deviation[c] / count)
	}
	return mean, deviation, err
}
