package formats

import (
	"errors"
	"fmt"
	"math"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
	num "capgnn/internal/number"
	"capgnn/internal/room"
)

// readTextFeatures reads a row of numbers per vertex; n -1: as many vertices as there are rows. named says whether the first
// line may hold names. The text is read twice: first to see how much there is.
func readTextFeatures(d *dataset.Dataset, t *textfile.Reader, named bool, n int) (rows int, err error) {
	r, err := rowsOf(t, named, false)
	if err != nil {
		return 0, err
	}
	return readFeatureRows(d, r, n)
}

// missing counts values that are missing.
type missing struct {
	count, rows, row int // row: the last one
	first            error
}

func (m *missing) add(t *textfile.Reader, row, col int, names []string) {
	if m.count == 0 {
		m.row = -1
		title := ""
		if col < len(names) {
			title = fmt.Sprintf(" (%.40q)", names[col])
		}
		m.first = t.Fault("the value in column %d%s is missing", col+1, title)
	}
	if m.count++; row != m.row {
		m.rows, m.row = m.rows+1, row
	}
}

// err is nil where nothing is missing.
func (m *missing) err() error {
	var at *dataset.FormatError
	if !errors.As(m.first, &at) {
		return nil
	}
	all := *at
	all.Err = fmt.Errorf("%w (%s in %s); features must be finite: fill them in, or let `capgnn data tables --missing` make the folder",
		at.Err, num.Counted(m.count, "missing value"), num.Counted(m.rows, "row"))
	return &all
}

func readFeatureRows(d *dataset.Dataset, r *rowText, n int) (rows int, err error) {
	t := r.t
	lines, err := t.Survey()
	if err != nil {
		return 0, err
	}
	var values []float32
	var ranges fields.Ranges
	var gone missing
	single := func() (float64, error) { return number(t, 32) }
	rows, cols, err := r.each(check.MaxCols, single, func(row, col int, v float64) error {
		if err := atMost(t, row, n, "rows"); err != nil {
			return err
		}
		if row == 1 && col == 0 {
			// The first row says how many values there will be in each line. A value has a character and one behind it,
			// which may be the line's end.
			rows := lines.Rows
			if n >= 0 {
				rows = min(rows, int64(n))
			}
			all := min(rows*int64(len(values)), (lines.Bytes+1)/2+1)
			if err := room.For(4 * all); err != nil {
				return t.Fault("%d values: %w", all, err)
			}
			values = append(make([]float32, 0, max(all, int64(len(values)))), values...)
		}
		if row == 0 && col < fields.MaxRanges {
			ranges = append(ranges, make(fields.Ranges, 1)...)
		}
		if math.IsNaN(v) {
			gone.add(t, row, col, r.names)
			return nil
		}
		ranges.Add(col, t.Exact)
		values = append(values, float32(v))
		return nil
	})
	if err == nil {
		err = gone.err()
	}
	if err != nil {
		return 0, err
	}
	if rows == 0 || n >= 0 && rows != n {
		return 0, t.Whole("has %d rows of features, want %s", rows, wantVertices(n))
	}
	if cols == 1 && n < 0 && lines.Inner > 0 {
		return 0, t.Whole("has empty lines between its rows (%d): fill in missing values, or take these lines out", lines.Inner)
	}
	r.noteComments(d, "features")
	order, err := r.order(d, "features", rows)
	if err != nil {
		return 0, err
	}
	d.Features = dataset.Features{Cols: cols, Dense: placed(values, cols, order)}
	if len(r.names) == cols {
		d.ColumnNames = r.names
	}
	if d.Exact, err = ranges.Columns(rows); err != nil || d.Exact == nil {
		return rows, err
	}
	_, _, err = r.each(check.MaxCols, single, func(row, col int, _ float64) error {
		if order != nil {
			row = int(order[row])
		}
		if column := d.Exact[col]; column != nil {
			column[row] = t.Exact
		}
		return nil
	})
	return rows, err
}

// vertexMask makes a mask of n vertices from a list: n numbers that are all 0 or 1 are the mask itself, anything else is
// vertices, none twice. From three vertices on this cannot be confused: a list of n different vertices holds a 2.
func vertexMask(list []int64, n int, fault func(i int, format string, args ...any) error) ([]bool, error) {
	mask, isMask := make([]bool, n), len(list) == n
	for _, v := range list {
		isMask = isMask && (v == 0 || v == 1)
	}
	for i, v := range list {
		switch {
		case isMask:
			mask[i] = v == 1
			continue
		case v < 0 || v >= int64(n):
			return nil, fault(i, "vertex %d is outside [0, %d)", v, n)
		case mask[v]:
			return nil, fault(i, "vertex %d is listed twice (a mask would be %d numbers 0 or 1, these are %d)", v, n, len(list))
		}
		mask[v] = true
	}
	return mask, nil
}

// readTextMask reads a mask, or a list of vertices, one number to a line, or beside a column that numbers rows or says which vertex each is of.
func readTextMask(d *dataset.Dataset, r *rowText, what string, n int) ([]bool, error) {
	t := r.t
	if len(r.names) > 1 || len(r.names) == 1 && fields.IsLabel(r.names[0]) {
		return nil, t.Whole("has the columns %s; want a list of vertices, or 0 or 1 for each (a class of each is in labels.csv)", fields.Quoted(r.names))
	}
	var list []int64
	_, _, err := r.each(2, func() (float64, error) { return number(t, 64) }, func(row, col int, v float64) error {
		if col > 0 {
			return t.Fault("row %d has more than 1 column", row)
		}
		if err := atMost(t, row, n, "lines"); err != nil {
			return err
		}
		if v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 || math.IsNaN(v) {
			return t.Fault("found %g, want a vertex or 0 or 1", v)
		}
		list = append(list, int64(v))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if r.id >= 0 && !(r.index && len(list) < n) {
		if len(list) != n {
			return nil, t.Whole("has %d rows with a column %q, want %d (vertices); a list of vertices has no such column", len(list), r.title, n)
		}
		order, err := r.order(d, what, n)
		if err != nil {
			return nil, err
		}
		list = placed(list, 1, order)
	} else if r.id >= 0 {
		d.Note("%s: the column without a name numbers the rows and is left out", what)
	}
	return vertexMask(list, n, func(i int, format string, args ...any) error {
		return t.Whole("number %d: %w", i, fmt.Errorf(format, args...))
	})
}
