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
	out, i, err := standardised(d.Features.Dense, d.Features.Cols, d.Train)
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

// standardised returns (x - mean) / deviation per column as float32, computed in float64. Mean and deviation are those of
// the rows in train, the deviation that of a population (divided by the number of rows). A column without deviation is
// only centred. On an error, i is the element it is about, -1 if none.
func standardised[T float32 | float64](x []T, cols int, train []bool) (out []float32, i int, err error) {
	if countTrue(train) == 0 {
		return nil, -1, errors.New("there are no training vertices to standardise with; use --standardize none")
	}
	for i, v := range x {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, i, fmt.Errorf("value %g; features must be finite", f)
		}
	}
	mean, deviation := moments(x, cols, train)
	for c, s := range deviation {
		if math.IsInf(s, 0) || math.IsNaN(s) {
			return nil, -1, fmt.Errorf("column %d: the values are too large to standardise; use --standardize none", c)
		}
	}
	out = make([]float32, len(x))
	for r := 0; r < len(x); r += cols {
		for c, v := range x[r : r+cols] {
			f := float64(v) - mean[c]
			if deviation[c] > 0 {
				f /= deviation[c]
			}
			if out[r+c] = float32(f); math.Abs(f) > math.MaxFloat32 || math.IsNaN(f) {
				return nil, r + c, fmt.Errorf("value %g, standardised with mean %g and deviation %g, does not fit float32", float64(v), mean[c], deviation[c])
			}
		}
	}
	return out, -1, nil
}

// moments returns mean and population deviation of every column over the rows in train, which are at least one.
//
// Method: two passes, sums in row order. A column of equal values has exactly that mean and deviation 0: the rounded sum
// would leave a tiny deviation, which would blow up other rows.
func moments[T float32 | float64](x []T, cols int, train []bool) (mean, deviation []float64) {
	mean, deviation = make([]float64, cols), make([]float64, cols)
	equal := make([]bool, cols)
	var first []T
	count := 0.0
	for v, in := range train {
		if !in {
			continue
		}
		row := x[v*cols : (v+1)*cols]
		if first == nil {
			first = row
			for c := range equal {
				equal[c] = true
			}
		}
		for c, f := range row {
			mean[c] += float64(f)
			equal[c] = equal[c] && f == first[c]
		}
		count++
	}
	for c := range mean {
		mean[c] /= count
		if equal[c] {
			mean[c] = float64(first[c])
		}
	}
	for v, in := range train {
		if !in {
			continue
		}
		for c, f := range x[v*cols : (v+1)*cols] {
			e := float64(f) - mean[c]
			deviation[c] += e * e
		}
	}
	for c := range deviation {
		deviation[c] = math.Sqrt(deviation[c] / count)
	}
	return mean, deviation
}
