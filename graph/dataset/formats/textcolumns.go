package formats

import (
	"fmt"
	"math"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/room"
)

// readTextFeatures reads a row of numbers per vertex; n -1: as many vertices as there are rows. named says whether the first
// line may hold names. The text is read twice: first to see how much there is.
func readTextFeatures(d *dataset.Dataset, t *textfile.Reader, named bool, n int) (rows int, err error) {
	lines, chars, err := t.Extent()
	if err != nil {
		return 0, err
	}
	var names []string
	if named {
		names = t.Header()
	}
	var values []float32
	rows, cols, err := t.Table(32, check.MaxCols, func(row, col int, v float64) error {
		if row == n || row == check.MaxDim {
			return t.Fault("there are more rows than %d vertices", row)
		}
		if math.IsNaN(v) {
			return t.Fault("row %d, column %d is NaN; features must be finite", row, col)
		}
		if row == 1 && col == 0 {
			// The first row says how many values there will be in each line. A value has a character and one behind it,
			// which may be the line's end.
			rows := lines
			if n >= 0 {
				rows = min(rows, int64(n))
			}
			all := min(rows*int64(len(values)), (chars+lines)/2+1)
			if err := room.For(4 * all); err != nil {
				return t.Fault("%d values: %w", all, err)
			}
			values = append(make([]float32, 0, max(all, int64(len(values)))), values...)
		}
		values = append(values, float32(v))
		return nil
	})
	if err != nil {
		return 0, err
	}
	if rows == 0 || n >= 0 && rows != n {
		return 0, t.Whole("has %d rows of features, want %s", rows, wantVertices(n))
	}
	d.Features = dataset.Features{Cols: cols, Dense: values}
	if len(names) == cols {
		d.ColumnNames = names
	}
	return rows, nil
}

func wantVertices(n int) string {
	if n < 0 {
		return "one per vertex"
	}
	return fmt.Sprintf("%d (vertices)", n)
}

// textLabels are the labels of the lines read so far: one class per vertex, or 0 and 1 for each of several classes.
type textLabels struct {
	t            *textfile.Reader
	n            int   // vertices, -1: as many as there are lines
	lines, chars int64 // of the text

	first   float64 // in the first line, until it is known whether it is alone there
	labels  []int32 // nil: of several classes
	targets []uint8
	largest int32
	line    int64 // of the largest label
}

// one takes the class of a vertex.
func (l *textLabels) one(y float64) error {
	if math.IsNaN(y) {
		y = -1
	}
	if y != math.Trunc(y) || y < -1 || y >= math.MaxInt32 {
		return l.t.Fault("label %g is no class from 0, and not -1 or nan (unlabelled)", y)
	}
	l.labels = append(l.labels, int32(y))
	if int32(y) > l.largest {
		l.largest, l.line = int32(y), l.t.TokenLine
	}
	return nil
}

// several takes whether a vertex is of class col.
func (l *textLabels) several(col int, y float64) error {
	if y != 0 && y != 1 {
		return l.t.Fault("class %d: %g is neither 0 nor 1, which labels of several columns are; for one class per vertex keep one column, without ids", col, y)
	}
	l.targets = append(l.targets, uint8(y))
	return nil
}

// cell takes a number of the text. The second one of the first line tells that classes are several; then the first one is of class 0.
func (l *textLabels) cell(row, col int, v float64) error {
	switch {
	case row == l.n || row == check.MaxDim:
		return l.t.Fault("there are more lines than %d vertices", row)
	case row == 0 && col == 0:
		l.first = v
		return l.one(v)
	case row == 0 && col == 1:
		l.labels = nil
		if err := l.several(0, l.first); err != nil {
			return err
		}
		return l.several(1, v)
	case l.labels != nil:
		return l.one(v)
	case row == 1 && col == 0:
		all := min(l.lines*int64(len(l.targets)), (l.chars+l.lines)/2+1)
		if err := room.For(all); err != nil {
			return l.t.Fault("%d values: %w", all, err)
		}
		l.targets = append(make([]uint8, 0, max(all, int64(len(l.targets)))), l.targets...)
	}
	return l.several(col, v)
}

// readTextLabels reads a line per vertex: one class, where -1 and nan mean unlabelled, or 0 and 1 for each of several
// classes. n -1: as many vertices as there are lines. named is that of readTextFeatures.
func readTextLabels(d *dataset.Dataset, t *textfile.Reader, named bool, n int) (rows int, err error) {
	lines, chars, err := t.Extent()
	if err != nil {
		return 0, err
	}
	if named {
		t.Header()
	}
	l := &textLabels{t: t, n: n, lines: lines, chars: chars, largest: -1}
	rows, cols, err := t.Table(64, 1<<16, l.cell)
	if err != nil {
		return 0, err
	}
	if rows == 0 || n >= 0 && rows != n {
		return 0, t.Whole("has %d lines of labels, want %s; empty lines do not count, -1 stands for no label", rows, wantVertices(n))
	}
	if limit := check.MaxClasses(rows); int64(l.largest) >= limit {
		return 0, t.Whole("line %d: label %d is outside [-1, %d)", l.line, l.largest, limit)
	}
	d.Labels, d.Targets, d.Classes = l.labels, l.targets, cols
	if l.labels != nil {
		d.Classes = int(l.largest) + 1
		if unlabelled := check.CountOf(l.labels, -1); unlabelled > 0 {
			d.Note("%d vertices have no label", unlabelled)
		}
	}
	return rows, nil
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

// readTextMask reads a mask, or a list of vertices, one number to a line.
func readTextMask(t *textfile.Reader, n int) ([]bool, error) {
	var list []int64
	_, _, err := t.Table(64, 1, func(_, _ int, v float64) error {
		if len(list) == n {
			return t.Fault("there are more lines than %d vertices", n)
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
	return vertexMask(list, n, func(i int, format string, args ...any) error {
		return t.Whole("number %d: %w", i, fmt.Errorf(format, args...))
	})
}
