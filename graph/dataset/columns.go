package dataset

import (
	"errors"
	"fmt"
	"slices"

	"capgnn/internal/room"
)

// MatchColumns returns which of the columns named have is each of those named want, the columns of a run: nil where
// they lie alike, or where one side has no names. Names that are not the same on both sides are an error, and so are
// names that stand twice in another order.
func MatchColumns(have, want []string) (from []int, err error) {
	if have == nil || want == nil || slices.Equal(have, want) {
		return nil, nil
	}
	at, err := places(have, "data set")
	if err != nil {
		return nil, err
	}
	wanted, err := places(want, "run")
	if err != nil {
		return nil, err
	}
	missing, more := lacking(want, at), lacking(have, wanted)
	const cure = "make it with the columns of the run's data"
	switch {
	case len(missing) > 0 && len(more) > 0:
		differ, all := max(len(missing), len(more)), max(len(want), len(have))
		return nil, fmt.Errorf("column %.60q of the run is not in the data set, whose %.60q is not in the run (%d of %d columns differ): %s",
			missing[0], more[0], differ, all, cure)
	case len(missing) > 0:
		return nil, fmt.Errorf("column %.60q of the run is not in the data set (%d of %d columns are missing): %s",
			missing[0], len(missing), len(want), cure)
	case len(more) > 0:
		return nil, fmt.Errorf("column %.60q of the data set is not in the run (%d more than its %d columns): %s",
			more[0], len(more), len(want), cure)
	}
	from = make([]int, len(want))
	for i, name := range want {
		from[i] = at[name]
	}
	return from, nil
}

// places returns where each name stands.
func places(names []string, whose string) (map[string]int, error) {
	at := make(map[string]int, len(names))
	for i, name := range names {
		if _, twice := at[name]; twice {
			return nil, fmt.Errorf("two columns of the %s are called %.60q, and the names of data set and run differ: "+
				"give each column a name of its own, or the same names in the same order", whose, name)
		}
		at[name] = i
	}
	return at, nil
}

// lacking lists the names that are not in a set.
func lacking(names []string, in map[string]int) (out []string) {
	for _, name := range names {
		if _, there := in[name]; !there {
			out = append(out, name)
		}
	}
	return out
}

// OrderColumns puts the columns of the features into the order of a run's, by their names.
func (d *Dataset) OrderColumns(want []string) error {
	if !d.Features.Present() {
		return nil
	}
	from, err := MatchColumns(d.ColumnNames, want)
	if from == nil || err != nil {
		return err
	}
	moved := 0
	for i, k := range from {
		if i != k {
			moved++
		}
	}
	if err := d.Features.order(from); err != nil {
		return fmt.Errorf("order columns: %w", err)
	}
	exact := map[int][]float64{}
	for i, k := range from {
		if column := d.Exact[k]; column != nil {
			exact[i] = column
		}
	}
	d.ColumnNames, d.Exact = want, exact
	d.Note("features: %d of %d columns stand elsewhere than in the run's data: they were put into its order by their names",
		moved, len(from))
	return nil
}

// order makes column i of what was column from[i], in new arrays: those that there are may be mapped.
func (f *Features) order(from []int) error {
	if len(from) != f.Cols {
		return errors.New("there are other columns than names")
	}
	if !f.Sparse() {
		if err := room.For(4 * int64(len(f.Dense))); err != nil {
			return err
		}
		out := make([]float32, len(f.Dense))
		for at := 0; at < len(out); at += f.Cols {
			row, to := f.Dense[at:at+f.Cols], out[at:at+f.Cols]
			for i, k := range from {
				to[i] = row[k]
			}
		}
		f.Dense = out
		return nil
	}
	if err := room.For(8 * int64(len(f.Indices)+len(f.Indptr))); err != nil {
		return err
	}
	to := make([]int32, f.Cols)
	for i, k := range from {
		to[k] = int32(i)
	}
	indices := make([]int32, len(f.Indices))
	for e, c := range f.Indices {
		indices[e] = to[c]
	}
	f.Indptr, f.Indices, f.Data = slices.Clone(f.Indptr), indices, slices.Clone(f.Data)
	_, err := f.SortRows(false)
	return err
}
