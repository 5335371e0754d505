package formats

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
)

// standardise standardises dense float32 features that were read, where they lie; mapped ones were not mapped for this. path stands for the data set in errors.
func standardise(d *dataset.Dataset, path string, opt dataset.Options) error {
	given, train := opt.Scaling, d.Train
	fault := func(err error) error { return &dataset.FormatError{File: path, Offset: -1, Err: err} }
	switch {
	case given != nil && !d.Features.Present():
		return fault(errors.New("has no features (x) to standardise as the run's were: add them"))
	case given != nil && d.Features.Sparse():
		return fault(errors.New("has sparse features, which standardising as the run's were would make dense: store them dense"))
	case !d.Features.Present():
		return fault(errors.New("has no features to standardise; use --standardize none"))
	case d.Features.Sparse():
		return fault(errors.New("has sparse features, which standardising would make dense; use --standardize none"))
	case train == nil && given == nil:
		return fault(errors.New("has no train_mask, whose rows standardising needs; use --standardize none"))
	}
	all := func(visit func(i int, v []float32) error) error { return visit(0, d.Features.Dense) }
	scaling, i, err := standardised(d.Features.Dense, all, d.Features.Cols, train, given)
	if err != nil && i >= 0 {
		err = fmt.Errorf("row %d, column %d: %w", i/d.Features.Cols, i%d.Features.Cols, err)
	}
	if err == nil {
		err = standardiseExact(d, scaling, given, train)
	}
	if err != nil {
		return fault(err)
	}
	d.FoundFinite(false)
	noteStandardised(d, scaling, given, train)
	return nil
}

// standardiseExact standardises the columns whose differences float32 would change, as they are stored, and puts their mean and deviation into scaling.
func standardiseExact(d *dataset.Dataset, scaling, given *dataset.Scaling, train []bool) error {
	for _, c := range slices.Sorted(maps.Keys(d.Exact)) {
		values, of := d.Exact[c], given
		if given != nil {
			of = &dataset.Scaling{Mean: given.Mean[c : c+1], Deviation: given.Deviation[c : c+1]}
		}
		out := make([]float32, len(values))
		all := func(visit func(i int, v []float64) error) error { return visit(0, values) }
		used, i, err := standardised(out, all, 1, train, of)
		if err != nil {
			return fmt.Errorf("row %d, column %d: %w", max(i, 0), c, err)
		}
		if given == nil {
			scaling.Mean[c], scaling.Deviation[c] = used.Mean[0], used.Deviation[0]
		}
		for v, x := range out {
			d.Features.Dense[v*d.Features.Cols+c] = x
		}
	}
	return nil
}

// noteRounded says in which columns different values have become close to each other, or equal, as float32.
func noteRounded(d *dataset.Dataset) {
	const close = 1 << 14 // times as large as their spread: 10 bits of difference are left
	var names []string
	largest := 0.0
	for _, c := range slices.Sorted(maps.Keys(d.Exact)) {
		values := d.Exact[c]
		most := max(math.Abs(slices.Min(values)), math.Abs(slices.Max(values)))
		if slices.Max(values) == slices.Min(values) || most <= 1<<24 && most <= close*(slices.Max(values)-slices.Min(values)) {
			continue
		}
		name := strconv.Itoa(c)
		if d.ColumnNames != nil {
			name = d.ColumnNames[c]
		}
		names, largest = append(names, name), max(largest, most)
	}
	if len(names) > 0 {
		d.Note("features: float32 rounds differences away in columns %s, whose values are as large as %.3g: --standardize train keeps them", fields.Quoted(names), largest)
	}
}

// noteTwice says that the features, which are standardised now, were so before the store was written. Rows that add up
// to 1 stay.
func noteTwice(d *dataset.Dataset, how string) {
	if was := d.Standardised; was != "" && (was != how || how != dataset.StandardizeRows) {
		d.Note("features: they were standardised (%s) before the store was written, and are standardised once more", was)
	}
	d.Standardised = how
}

func noteStandardised(d *dataset.Dataset, used, given *dataset.Scaling, train []bool) {
	d.Scaling = used
	noteTwice(d, dataset.StandardizeTrain)
	if given != nil {
		d.Note("features: every column was standardised with the mean and deviation of the run")
		return
	}
	d.Note("features: every column was standardised with mean and deviation of the %d training rows (--standardize none keeps them as stored)",
		check.CountTrue(train))
}

// stream calls visit with all values of a matrix, row by row, in pieces; i is the index of the first value of a piece.
type stream[T float32 | float64] func(visit func(i int, v []T) error) error

// standardised puts (x - mean) / deviation per column into out as float32, computed in float64. Mean and deviation are those
// of the rows in train, the deviation that of a population (divided by the number of rows), or those given. A column
// without deviation is only centred. On an error, i is the element it is about, -1 if none. x is streamed three times, with
// given once; out may lie where x does.
func standardised[T float32 | float64](out []float32, x stream[T], cols int, train []bool, given *dataset.Scaling) (used *dataset.Scaling, i int, err error) {
	if used = given; used == nil {
		if check.CountTrue(train) == 0 {
			return nil, -1, errors.New("there are no training vertices to standardise with; use --standardize none")
		}
		bad := -1
		used = &dataset.Scaling{}
		if used.Mean, used.Deviation, err = moments(x, cols, train, &bad); err != nil {
			return nil, bad, err
		}
		for c, s := range used.Deviation {
			if math.IsInf(s, 0) || math.IsNaN(s) {
				return nil, -1, fmt.Errorf("column %d: the values are too large to standardise; use --standardize none", c)
			}
		}
	}
	if err := used.Check(cols); err != nil {
		return nil, -1, err
	}
	bad := -1
	err = x(func(i int, values []T) error {
		c := i % cols
		for k, v := range values {
			f := float64(v) - used.Mean[c]
			if used.Deviation[c] > 0 {
				f /= used.Deviation[c]
			}
			if out[i+k] = float32(f); math.Abs(f) > math.MaxFloat32 || math.IsNaN(f) {
				bad = i + k
				return fmt.Errorf("value %g, standardised with mean %g and deviation %g, does not fit float32", float64(v), used.Mean[c], used.Deviation[c])
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
	return used, -1, nil
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
	count := float64(check.CountTrue(train))
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
