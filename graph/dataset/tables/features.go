package tables

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
)

// denseColumns is up to how many features that are not all columns of numbers are written as text.
const denseColumns = 256

// featureRows makes rows of features of lines: the numbers of columns, a matrix beside them (--features FILE.npy),
// and what names stand for. Columns of numbers come first, in the order of the table.
type featureRows struct {
	s      *survey
	dense  []int             // columns of numbers
	width  int               // their numbers
	matrix *matrix           // nil: none
	lists  *dataset.Features // by line, of features by number; nil: none
	first  int               // the feature that is number 0 of lists
	names  []string          // of all features
	sink   rowSink

	text  []string // of the row
	extra []extra
}

// extra is a feature that a name stands for.
type extra struct {
	column int
	value  float32
}

// rowSink writes rows of features.
type rowSink interface {
	row(line int, dense []string, extras []extra) error
	close() error // and what remains to be written is
}

// featureRows returns how the features of lines are made and where they go; nil: there are none.
func (s *survey) featureRows(dir string, w *Written) (*featureRows, error) {
	r := &featureRows{s: s, dense: s.c.of(roleFeature)}
	for _, i := range r.dense {
		col := &s.c.all[i]
		if r.width += col.width; r.width > check.MaxCols {
			return nil, fmt.Errorf("%s: there are more than %d features", s.t.Nodes, check.MaxCols)
		}
		for k := range col.width {
			name := fields.FeatureName(col.name, i)
			if col.kind == cellVector {
				name = col.name + "_" + strconv.Itoa(k)
			}
			r.names = append(r.names, name)
		}
	}
	err := r.readFile(w)
	if err != nil {
		return nil, err
	}
	r.nameExtras()
	switch n := len(r.names); {
	case n == 0:
		return nil, nil
	case n > check.MaxCols:
		return nil, fmt.Errorf("%s: there are %d features, want 1 to %d", s.t.Nodes, n, check.MaxCols)
	}
	seen := map[string]struct{}{}
	for _, name := range r.names {
		if _, twice := seen[name]; twice {
			return nil, fmt.Errorf("%s: two features would be called %q: rename a column", s.t.Nodes, name)
		}
		seen[name] = struct{}{}
	}
	mixed := r.lists != nil || len(s.c.of(roleNames))+len(s.c.of(roleLists)) > 0
	more := len(r.names) // features that make the whole too wide for text
	if r.matrix != nil {
		more -= r.matrix.cols
	}
	switch w.Sparse = mixed && more > denseColumns; {
	case w.Sparse:
		r.sink = &sparseSink{dir: dir, r: r, f: dataset.Features{Cols: len(r.names), Indptr: []int64{0}}}
	case r.matrix != nil:
		r.sink = &arraySink{dir: dir, r: r}
	default:
		r.sink, err = createText(dir, r)
	}
	return r, err
}

// readFile reads the features of --features: lists by id, or a matrix by line.
func (r *featureRows) readFile(w *Written) (err error) {
	t := r.s.t
	switch {
	case t.Features == "":
		return nil
	case strings.EqualFold(filepath.Ext(t.Features), ".npy"):
		if r.matrix, err = readMatrix(t, r.s.lines); err != nil {
			return err
		}
		stem := strings.TrimSuffix(filepath.Base(t.Features), filepath.Ext(t.Features))
		for k := range r.matrix.cols {
			r.names = append(r.names, stem+"_"+strconv.Itoa(k))
		}
		return nil
	}
	switch ext := strings.ToLower(filepath.Ext(t.Features)); ext {
	case ".csv", ".tsv", ".txt", ".npz", ".pt", ".parquet":
		return fmt.Errorf("%s: --features takes .json or .npy, not %s; columns of text belong in --nodes", t.Features, ext)
	}
	lists, err := t.readLists(r.s.number, w)
	r.lists = &lists
	if err != nil {
		return err
	}
	listed := 0
	for v := range len(lists.Indptr) - 1 {
		listed += b2i(lists.Indptr[v+1] > lists.Indptr[v])
	}
	if 2*listed < r.s.lines {
		w.note("%s: %d of %d vertices have no features in it: these are 0", filepath.Base(t.Features), r.s.lines-listed, r.s.lines)
	}
	return nil
}

// nameExtras gives the features that names stand for their places: by column of the table, in it whole numbers by
// size, then other names by their text; behind them those of lists.
func (r *featureRows) nameExtras() {
	for i := range r.s.c.all {
		col := &r.s.c.all[i]
		if col.role != roleNames && col.role != roleLists {
			continue
		}
		names := make([]string, 0, len(col.names))
		for name := range col.names {
			names = append(names, name)
		}
		slices.SortFunc(names, func(x, y string) int {
			m, noNumber := strconv.ParseUint(x, 10, 63)
			n, neither := strconv.ParseUint(y, 10, 63)
			return cmp.Or(cmp.Compare(b2i(noNumber != nil), b2i(neither != nil)), cmp.Compare(m, n), cmp.Compare(x, y))
		})
		for _, name := range names {
			col.names[name] = int32(len(r.names))
			r.names = append(r.names, fields.FeatureName(col.name+"="+name, i))
		}
	}
	if r.lists == nil {
		return
	}
	r.first = len(r.names)
	for id := range r.lists.Cols {
		r.names = append(r.names, strconv.Itoa(id))
	}
}

// add makes the row of line k.
func (r *featureRows) add(in *tableIn, k int, record []string) error {
	r.text, r.extra = r.text[:0], r.extra[:0]
	for _, i := range r.dense {
		col := &r.s.c.all[i]
		found := look(record[i], r.s.d.may)
		texts := found.texts(record[i], col.kind)
		if found.kind == cellMissing {
			texts = col.fills
		}
		if len(texts) != col.width {
			return in.fault("the table has changed while it was read")
		}
		r.text = append(r.text, texts...)
	}
	for i := range r.s.c.all {
		if err := r.addNames(&r.s.c.all[i], in, record[i]); err != nil {
			return err
		}
	}
	if r.lists != nil {
		for i := r.lists.Indptr[k]; i < r.lists.Indptr[k+1]; i++ {
			r.extra = append(r.extra, extra{r.first + int(r.lists.Indices[i]), r.lists.Data[i]})
		}
	}
	r.extra = merge(r.extra)
	for _, e := range r.extra {
		if !check.Finite(e.value) {
			return in.fault("the values of %s in one field add up to %g; features must be finite",
				r.names[e.column], e.value)
		}
	}
	return r.sink.row(k, r.text, r.extra)
}

// addNames adds the features that the names in a field stand for.
func (r *featureRows) addNames(col *column, in *tableIn, field string) error {
	if col.role != roleNames && col.role != roleLists || fields.Unknown(field) {
		return nil
	}
	all := []item{{name: field, value: 1}}
	if col.role == roleLists {
		var err error
		if all, err = items(field, col.blanks); err != nil {
			return in.fault("column %q: %w", col.name, err)
		}
	}
	for _, item := range all {
		if col.role == roleLists && item.unknown() {
			continue
		}
		id, known := col.names[item.name]
		if !known {
			return in.fault("the table has changed while it was read")
		}
		r.extra = append(r.extra, extra{int(id), item.value})
	}
	return nil
}

// finish ends what was begun.
func (r *featureRows) finish(w *Written) error {
	w.Features = r.names
	for _, i := range r.dense {
		if col := &r.s.c.all[i]; r.s.left == nil {
			w.Filled += int64(col.of[cellMissing].count)
		}
	}
	return nil
}

// readLists reads the lists of features by the ids of the vertices, whose lines number has.
func (t *Tables) readLists(number map[string]int32, w *Written) (f dataset.Features, err error) {
	err = textfile.Scan(t.Features, t.Watch, func(s *textfile.Scanner, _ int64) error {
		l, err := fields.ScanLists(s, func(key string) (int32, error) {
			v, known := number[strings.TrimSpace(key)]
			switch {
			case known:
				return v, nil
			case t.SkipUnknown:
				w.Skipped++
				return -1, nil
			}
			return 0, fmt.Errorf("%.40q is not an id in %s: correct it, or skip such lists with --skip-unknown",
				key, filepath.Base(t.Nodes))
		})
		if err != nil {
			return err
		}
		repeats := 0
		if f, repeats, err = l.Features(len(number)); err != nil {
			return fmt.Errorf("%s: %w", t.Features, err)
		}
		if repeats > 0 {
			w.note("%s: %s: %d", filepath.Base(t.Features), fields.NoteRepeats, repeats)
		}
		return nil
	})
	return f, err
}

// merge adds up values of the same feature and puts features in their order; zeros are left out. Sums do not depend
// on the order in which values came.
func merge(extras []extra) []extra {
	extras = slices.DeleteFunc(extras, func(e extra) bool { return e.value == 0 })
	slices.SortFunc(extras, func(a, b extra) int {
		return cmp.Or(cmp.Compare(a.column, b.column), cmp.Compare(math.Float32bits(a.value), math.Float32bits(b.value)))
	})
	out := extras[:0]
	for _, e := range extras {
		if n := len(out); n > 0 && out[n-1].column == e.column {
			out[n-1].value += e.value
		} else {
			out = append(out, e)
		}
	}
	return out
}
