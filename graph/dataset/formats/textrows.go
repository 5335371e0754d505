package formats

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
	num "capgnn/internal/number"
)

// rowText is a text with a row for each vertex. The first line may be names of columns, and a column may number the rows, or say which vertex each is of.
type rowText struct {
	t    *textfile.Reader
	head bool // the first line is no row
	// numbers says that it is 0,1,2,…
	numbers bool
	names   []string // of the columns but id; nil: unknown
	id      int      // the column of vertices; -1: rows are in their order
	title   string   // of that column
	ids     []int64  // one for each row
	lines   []int64  // where they stand
	// index says that the column has no name, so that it may count from 1, as R does.
	index bool
	// implied says that values of one column would make it too, if they had decimal commas.
	implied bool
	end     int // of the columns that hold something; 0: all do
	extra   int // empty columns behind them, as spreadsheets write them
}

// rowsOf looks at the first lines of t. named says whether the first one may hold names, numbers that it is 0,1,2,… and no row.
func rowsOf(t *textfile.Reader, named, numbers bool) (*rowText, error) {
	r := &rowText{t: t, id: -1}
	if !named {
		return r, nil
	}
	head, _, err := t.Head(2)
	if err != nil || len(head) == 0 {
		return r, err
	}
	names := head[0]
	_, sure := isNumberHeader(names)
	r.numbers = numbers || sure
	r.head = r.numbers || isName(names[0]) || names[0] == "" && len(names) > 1 && isName(names[1])
	if !r.head || len(head) == 1 {
		return r, nil
	}
	cols := len(head[1])
	switch {
	case names[len(names)-1] == textfile.Cut || head[1][cols-1] == textfile.Cut:
		return r, nil
	case len(names) == cols:
	case len(names)+1 == cols: // as R writes names of rows, and pandas with tabs
		r.implied, names = len(names) == 1, append([]string{""}, names...)
	case t.Delimiter() == ' ' && len(names) > cols:
		return r, nil // names with blanks
	default:
		t.SkipLine()
		t.Next()
		return nil, t.FaultHere("found %s, and the first line names %s: write decimal commas as points",
			num.Counted(cols, "field"), num.Counted(len(names), "column"))
	}
	for n := len(names); n > 1 && names[n-1] == "" && head[1][cols-1-r.extra] == ""; n-- {
		names, r.extra = names[:n-1], r.extra+1
	}
	if r.names, r.end = names, len(names); len(names) > 1 {
		err = r.findID()
	}
	if err == nil && slices.ContainsFunc(r.names, func(name string) bool { return strings.Contains(name, "\ufffd") }) {
		err = r.t.Whole("line 1: the names of the columns are no UTF-8 text: save the file as UTF-8, or iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW")
	}
	if r.numbers {
		r.names = nil
	}
	return r, err
}

// findID finds the column of vertices, which is called so, or else as ids are, and takes its name from the others.
func (r *rowText) findID() error {
	isID := fields.IsID
	if fields.IDColumn(r.names) < 0 {
		isID = fields.SaysID
	}
	for i, name := range r.names {
		if !isID(name) && !fields.CountsRows(name) {
			continue
		}
		if r.id >= 0 {
			return r.t.Whole("columns %q and %q both look like numbers of vertices: keep one", r.title, name)
		}
		r.id, r.title, r.index = i, name, fields.CountsRows(name) && name != "index"
	}
	if r.id >= 0 {
		r.names = slices.Delete(slices.Clone(r.names), r.id, r.id+1)
	}
	return nil
}

// noteComments says how many comments may be meant as rows.
func (r *rowText) noteComments(d *dataset.Dataset, what string) {
	if c := r.t.Comments(); c.Count > 0 {
		d.Note("%s: lines that begin with # or %% are comments, and no vertices: %d, such as %.60q in line %d; "+
			"if they are rows, put their first fields in quotation marks", what, c.Count, c.First, c.Line)
	}
}

// number reads a number of so many bits, True or False; what stands for a missing value is NaN.
func number(t *textfile.Reader, bits int) (float64, error) {
	v, word, err := t.Cell(bits)
	if err != nil || word == nil {
		return v, err
	}
	text := string(word)
	if fields.Unknown(text) {
		t.Exact = math.NaN()
		return t.Exact, nil
	}
	if v, ok := trueOrFalse(text); ok {
		t.Exact = v
		return v, nil
	}
	return 0, t.NoNumber(word)
}

// each calls cell for every field but those of the column of vertices, read by read, from the beginning of the text.
func (r *rowText) each(limit int, read func() (float64, error), cell func(row, col int, v float64) error) (rows, cols int, err error) {
	if err := r.t.Restart(); err != nil {
		return 0, 0, err
	}
	if r.head {
		r.t.SkipLine()
	}
	r.ids, r.lines = r.ids[:0], r.lines[:0]
	if r.id < 0 && r.extra == 0 {
		return r.t.TableBy(limit, func(int) (float64, error) { return read() }, cell)
	}
	isExtra := func(col int) bool { return r.extra > 0 && col >= r.end }
	rows, cols, err = r.t.TableBy(limit+r.extra, func(col int) (float64, error) {
		switch {
		case col == r.id:
			return r.readID()
		case isExtra(col):
			text, err := r.t.Text()
			if err == nil && len(text) > 0 {
				err = r.t.Fault("column %d has no name, and here a value", col+1)
			}
			return 0, err
		}
		return read()
	}, func(row, col int, v float64) error {
		switch {
		case col == r.id:
			r.ids, r.lines = append(r.ids, int64(v)), append(r.lines, r.t.TokenLine)
			return nil
		case isExtra(col):
			return nil
		case r.id >= 0 && col > r.id:
			col--
		}
		return cell(row, col, v)
	})
	return rows, cols - r.extra - toInt(r.id >= 0), err
}

// readID reads the vertex of a row.
func (r *rowText) readID() (float64, error) {
	v, word, err := r.t.Cell(64)
	if err == nil && (word != nil || v != math.Trunc(v) || math.Abs(v) > math.MaxInt32) {
		err = r.t.Fault("column %q does not number vertices here: `capgnn data tables` numbers names; a feature must be called something else", r.title)
	}
	return v, err
}

// order returns the vertex of each row of n, nil where rows are in the order of vertices, and notes what became of the column of vertices.
func (r *rowText) order(d *dataset.Dataset, what string, n int) ([]int64, error) {
	if r.id < 0 {
		return nil, nil
	}
	title := fmt.Sprintf("column %q", r.title)
	if r.title == "" {
		title = "the column without a name"
	}
	if first := inOrder(r.ids, 0); first || r.index && inOrder(r.ids, 1) {
		from := ""
		if !first {
			from = " (from 1, as R does; edges count from 0: if their ids are these numbers, subtract 1)"
		}
		d.Note("%s: %s numbers the rows and is left out%s", what, title, from)
		return nil, nil
	}
	if r.implied {
		return nil, r.t.Whole("line %d: 2 fields, the first line names 1 column: write decimal commas as points", r.lines[0])
	}
	seen := make([]bool, n)
	for i, v := range r.ids {
		wrong := ""
		switch {
		case v < 0 || v >= int64(n):
			wrong = fmt.Sprintf("vertex %d is outside [0, %d)", v, n)
		case seen[v]:
			wrong = fmt.Sprintf("vertex %d is there twice", v)
		}
		if wrong != "" {
			return nil, r.t.Whole("line %d: %s in %s, which must have each vertex once, from 0: `capgnn data tables` numbers other ids; a feature must be called something else", r.lines[i], wrong, title)
		}
		seen[v] = true
	}
	d.Note("%s: rows were put in the order of %s", what, title)
	return r.ids, nil
}

func inOrder(ids []int64, from int64) bool {
	for i, v := range ids {
		if v != from+int64(i) {
			return false
		}
	}
	return true
}

// placed returns rows of cols values in the order of vertices, where order says which each row is of; nil: they are.
func placed[T any](values []T, cols int, order []int64) []T {
	if order == nil || values == nil {
		return values
	}
	out := make([]T, len(values))
	for row, v := range order {
		copy(out[int(v)*cols:][:cols], values[row*cols:])
	}
	return out
}

// wantVertices says how many rows are wanted.
func wantVertices(n int) string {
	if n < 0 {
		return "one per vertex"
	}
	return fmt.Sprintf("%d (vertices)", n)
}

// atMost refuses row where there are only n vertices, -1: as many as can be.
func atMost(t *textfile.Reader, row, n int, what string) error {
	if row == n || row == check.MaxDim {
		return t.Fault("there are more %s than %s", what, num.Counted(row, "vertex"))
	}
	return nil
}
