package tables

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/npy"
)

// denseColumns is up to how many features that are not all columns of numbers are written as text.
const denseColumns = 256

// featureSink takes the features of one vertex after the other.
type featureSink interface {
	row(record []string) error // a line of Nodes; numbers are numbers
	// finish ends the file and returns the names of the features.
	finish(number map[string]int32, w *Written) ([]string, error)
	abandon() error
}

// featureSink returns where the features of a table go: straight into a file, if all of them are columns of numbers.
func (t *Tables) featureSink(dir string, c *tableColumns) (featureSink, error) {
	numbers := c.of(columnNumber)
	if t.Features == "" && len(c.of(columnNames))+len(c.of(columnLists)) == 0 {
		out, err := textfile.CreateTable(dir, "features.csv", c.named(numbers)...)
		return &numberSink{out: out, names: c.named(numbers), columns: numbers, fields: make([]string, len(numbers))}, err
	}
	return &mixedSink{t: t, dir: dir, c: c, numbers: numbers, ids: make([]map[string]int32, len(c.head)), f: dataset.Features{Indptr: []int64{0}}}, nil
}

// numberSink writes columns of numbers as they stand.
type numberSink struct {
	out     *textfile.Table
	names   []string
	columns []int
	fields  []string
}

func (s *numberSink) row(record []string) error {
	for k, i := range s.columns {
		s.fields[k] = record[i]
	}
	return s.out.Line(s.fields...)
}

func (s *numberSink) finish(map[string]int32, *Written) ([]string, error) {
	err := s.out.Close()
	if err == nil && len(s.names) == 0 {
		err = os.Remove(s.out.Name())
	}
	return s.names, err
}

func (s *numberSink) abandon() error { return s.out.Close() }

// mixedSink gathers columns of numbers, names and lists as sparse rows. Columns have the numbers in which they came up; the
// names of a column of the table, and so their order, are known at the end.
type mixedSink struct {
	t       *Tables
	dir     string
	c       *tableColumns
	numbers []int
	ids     []map[string]int32 // number of each name, by column of the table
	names   []featureName      // behind the columns of numbers
	f       dataset.Features
}

// featureName is a feature that a name in a column of the table stands for.
type featureName struct {
	column int
	name   string
}

func (s *mixedSink) row(record []string) error {
	for k, i := range s.numbers {
		x, err := strconv.ParseFloat(record[i], 32)
		if err != nil {
			return err
		}
		s.add(int32(k), float32(x))
	}
	for i, kind := range s.c.kind {
		switch {
		case kind == columnNames && record[i] != "":
			if err := s.addName(i, record[i], 1); err != nil {
				return err
			}
		case kind == columnLists:
			for _, item := range items(record[i]) {
				name, value := itemValue(item)
				if err := s.addName(i, name, value); err != nil {
					return err
				}
			}
		}
	}
	s.f.Indptr = append(s.f.Indptr, int64(len(s.f.Indices)))
	return nil
}

func (s *mixedSink) add(column int32, x float32) {
	if x != 0 {
		s.f.Indices, s.f.Data = append(s.f.Indices, column), append(s.f.Data, x)
	}
}

// addName adds the feature that a name in a column of the table stands for.
func (s *mixedSink) addName(column int, name string, x float32) error {
	if s.ids[column] == nil {
		s.ids[column] = map[string]int32{}
	}
	id, known := s.ids[column][name]
	if !known {
		if id = int32(len(s.numbers) + len(s.names)); id >= check.MaxCols {
			return fmt.Errorf("there are more than %d features", check.MaxCols)
		}
		name = strings.Clone(name)
		s.ids[column][name] = id
		s.names = append(s.names, featureName{column, name})
	}
	s.add(id, x)
	return nil
}

// items splits a field that is a list.
func items(field string) []string {
	return strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune(" \t,;|[]{}()'\"", r) })
}

// itemValue reads NAME:VALUE; an item without a finite value is a name, and its value 1.
func itemValue(item string) (name string, value float32) {
	if i := strings.LastIndexByte(item, ':'); i > 0 {
		if x, err := strconv.ParseFloat(item[i+1:], 32); err == nil && check.Finite(float32(x)) {
			return item[:i], float32(x)
		}
	}
	return item, 1
}

// arrange orders the columns of names: by column of the table, whole numbers by size, then other names by their text. It returns
// the names of all columns.
func (s *mixedSink) arrange() []string {
	order := make([]int, len(s.names))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := s.names[a], s.names[b]
		m, noNumber := strconv.ParseUint(x.name, 10, 63)
		n, neither := strconv.ParseUint(y.name, 10, 63)
		return cmp.Or(cmp.Compare(x.column, y.column), cmp.Compare(b2i(noNumber != nil), b2i(neither != nil)), cmp.Compare(m, n), cmp.Compare(x.name, y.name))
	})
	all := s.c.named(s.numbers)
	place := make([]int32, len(order)) // of each name
	for at, k := range order {
		place[k] = int32(len(s.numbers) + at)
		all = append(all, s.c.head[s.names[k].column]+"="+s.names[k].name)
	}
	for i, column := range s.f.Indices {
		if k := int(column) - len(s.numbers); k >= 0 {
			s.f.Indices[i] = place[k]
		}
	}
	return all
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *mixedSink) finish(number map[string]int32, w *Written) ([]string, error) {
	names := s.arrange()
	if s.t.Features != "" {
		lists, err := s.t.readFeatures(number, w)
		if err != nil {
			return nil, err
		}
		for id := range lists.Cols {
			names = append(names, strconv.Itoa(id))
		}
		s.f = beside(&s.f, &lists, len(names)-lists.Cols)
	}
	if s.f.Cols = len(names); s.f.Cols > check.MaxCols || s.f.Cols == 0 {
		return nil, fmt.Errorf("%s: there are %d features, want 1 to %d", s.t.Nodes, s.f.Cols, check.MaxCols)
	}
	if _, err := s.f.SortRows(false); err != nil {
		return nil, err
	}
	if i := check.FirstNotFinite(s.f.Data); i >= 0 {
		return nil, fmt.Errorf("%s: the values of %s in one field add up to %g; features must be finite", s.t.Nodes, names[s.f.Indices[i]], s.f.Data[i])
	}
	if w.Sparse = s.f.Cols > denseColumns; w.Sparse {
		return names, s.writeSparse(names)
	}
	return names, s.writeDense(names)
}

func (s *mixedSink) abandon() error { return nil }

// readFeatures reads the lists of features by the ids of the vertices.
func (t *Tables) readFeatures(number map[string]int32, w *Written) (f dataset.Features, err error) {
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
			return 0, fmt.Errorf("%.40q is not an id in %s: correct it, or skip such lists with --skip-unknown", key, filepath.Base(t.Nodes))
		})
		if err == nil {
			f, err = l.Features(len(number))
		}
		return err
	})
	return f, err
}

// beside returns the rows of a with those of b behind them, whose columns begin at first.
func beside(a, b *dataset.Features, first int) dataset.Features {
	out := dataset.Features{Indptr: []int64{0}}
	for v := range len(a.Indptr) - 1 {
		out.Indices = append(out.Indices, a.Indices[a.Indptr[v]:a.Indptr[v+1]]...)
		out.Data = append(out.Data, a.Data[a.Indptr[v]:a.Indptr[v+1]]...)
		for i := b.Indptr[v]; i < b.Indptr[v+1]; i++ {
			out.Indices, out.Data = append(out.Indices, b.Indices[i]+int32(first)), append(out.Data, b.Data[i])
		}
		out.Indptr = append(out.Indptr, int64(len(out.Indices)))
	}
	return out
}

// writeDense writes features.csv.
func (s *mixedSink) writeDense(names []string) error {
	out, err := textfile.CreateTable(s.dir, "features.csv", names...)
	if err != nil {
		return err
	}
	fields := make([]string, s.f.Cols)
	for v := range len(s.f.Indptr) - 1 {
		for c := range fields {
			fields[c] = "0"
		}
		for i := s.f.Indptr[v]; i < s.f.Indptr[v+1]; i++ {
			fields[s.f.Indices[i]] = strconv.FormatFloat(float64(s.f.Data[i]), 'g', -1, 32)
		}
		if err = out.Line(fields...); err != nil {
			break
		}
	}
	return errors.Join(err, out.Close())
}

// writeSparse writes features.npz, as scipy.sparse.save_npz does, and columns.csv.
func (s *mixedSink) writeSparse(names []string) error {
	out, err := textfile.CreateTable(s.dir, "columns.csv", "column")
	if err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, out.Line(name))
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return npy.WriteArchiveFile(filepath.Join(s.dir, "features.npz"), []npy.Entry{
		{Key: "indices", Data: s.f.Indices}, {Key: "indptr", Data: s.f.Indptr}, {Key: "format", Shape: []int{}, Data: []string{"csr"}},
		{Key: "shape", Data: []int64{int64(len(s.f.Indptr) - 1), int64(s.f.Cols)}}, {Key: "data", Data: s.f.Data},
	}, npy.Archiving{Deflate: true})
}
