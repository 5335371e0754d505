package dataset

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/text/unicode/norm"

	"capgnn/internal/room"
)

// Named are things that have names: what one and several of them are called.
type Named struct{ One, Several string }

// What MatchNames matches.
var (
	Columns = Named{"column", "columns"}
	Classes = Named{"class", "classes"}
)

// MatchNames returns which of those named have is each of those named want, which are a run's: nil where
// they lie alike, or where one side has no names. Names that are not the same on both sides are an error, and so are
// names that stand twice in another order.
func MatchNames(of Named, have, want []string) (from []int, err error) {
	if have == nil || want == nil || slices.Equal(have, want) {
		return nil, nil
	}
	at, err := places(of, have, "data set")
	if err != nil {
		return nil, err
	}
	wanted, err := places(of, want, "run")
	if err != nil {
		return nil, err
	}
	missing, more := lacking(want, at), lacking(have, wanted)
	cure := "make the data set with the " + of.Several + " of the run's data"
	switch {
	case len(missing) > 0 && len(more) > 0:
		differ, all := max(len(missing), len(more)), max(len(want), len(have))
		return nil, fmt.Errorf("%s %.60q of the run is not in the data set, whose %.60q is not in the run (%d of %d %s differ): %s",
			of.One, missing[0], more[0], differ, all, of.Several, cure)
	case len(missing) > 0:
		return nil, fmt.Errorf("%s %.60q of the run is not in the data set (%d of %d %s are missing): %s",
			of.One, missing[0], len(missing), len(want), of.Several, cure)
	case len(more) > 0:
		return nil, fmt.Errorf("%s %.60q of the data set is not in the run (%d more than its %d %s): %s",
			of.One, more[0], len(more), len(want), of.Several, cure)
	}
	from = make([]int, len(want))
	for i, name := range want {
		from[i] = at[name]
	}
	return from, nil
}

// Composed returns names in the normal form in which characters are composed (NFC): tables that were written on macOS
// may have others, which read the same.
func Composed(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		out[i] = norm.NFC.String(name)
	}
	return out
}

// places returns where each name stands.
func places(of Named, names []string, whose string) (map[string]int, error) {
	at := make(map[string]int, len(names))
	for i, name := range names {
		if _, twice := at[name]; twice {
			return nil, fmt.Errorf("two %s of the %s are called %.60q, and the names of data set and run differ: "+
				"give each %s a name of its own, or the same names in the same order", of.Several, whose, name, of.One)
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
	from, err := MatchNames(Columns, d.ColumnNames, want)
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
	d.Note("features: %d of %d columns are in another order than in the run: they were matched by name",
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
