package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Tables are two tables with names in them, as databases and spreadsheets write them: one line per vertex, one per edge.
// Fields stand between commas, semicolons or tabs, whichever the first line has most of, and may be quoted.
type Tables struct {
	Nodes string // file; its first line names the columns
	Edges string // file; its first two columns are ids of Nodes, from and to, behind a first line that names them
	ID    string // column of Nodes with the ids; "" = the first
	Label string // column with the classes, by any name; empty fields are unlabelled; "" = no labels
	Drop  []string
	// Missing stands for an empty field of a feature; nil: one is an error.
	Missing *float64
	// SkipUnknown leaves out edges with an id that Nodes does not have; else one is an error.
	SkipUnknown bool
	Watch       Watch // is told what was read; nil: nobody
}

// TablesWritten says what became of tables.
type TablesWritten struct {
	Vertices   int      `json:"vertices"`
	Edges      int64    `json:"edges"`
	Features   []string `json:"features"`
	Classes    []string `json:"classes"`
	Unlabelled int      `json:"unlabelled"`
	Filled     int64    `json:"filled"`  // empty fields for which Missing stands
	Skipped    int64    `json:"skipped"` // edges with an unknown id
}

// WriteCSV writes the tables as a CSV folder that Load reads: edges.csv, features.csv and labels.csv with numbers in place of
// names, and ids.csv and classes.csv, whose line i behind the first is the name of vertex or class i. Vertices have the order
// of their lines, classes that of their names. dir must be there and empty.
func (t *Tables) WriteCSV(dir string) (*TablesWritten, error) {
	w := &TablesWritten{Features: []string{}, Classes: []string{}}
	number, err := t.writeNodes(dir, w)
	if err != nil {
		return nil, err
	}
	return w, t.writeEdges(dir, w, number)
}

// writeNodes returns the vertex of each id.
func (t *Tables) writeNodes(dir string, w *TablesWritten) (map[string]int32, error) {
	in, err := openTable(t.Nodes, t.Watch)
	if err != nil {
		return nil, err
	}
	defer in.close()
	head, err := in.next()
	if err == io.EOF {
		return nil, fmt.Errorf("%s: is empty, want a line that names the columns", t.Nodes)
	}
	if err != nil {
		return nil, err
	}
	columns, err := t.columns(slices.Clone(head))
	if err != nil {
		return nil, err
	}
	var features, ids *tableOut
	features, err = createTable(dir, "features.csv", columns.names...)
	if err != nil {
		return nil, err
	}
	ids, err = createTable(dir, "ids.csv", columns.head[columns.id])
	if err != nil {
		return nil, errors.Join(err, features.close())
	}
	w.Features = append(w.Features, columns.names...)
	number, classes, err := t.copyNodes(in, columns, features, ids, w)
	if err = errors.Join(err, features.close(), ids.close()); err != nil {
		return nil, err
	}
	if w.Vertices = len(number); w.Vertices == 0 {
		return nil, fmt.Errorf("%s: has no line behind its first", t.Nodes)
	}
	if len(columns.names) == 0 {
		if err := os.Remove(filepath.Join(dir, "features.csv")); err != nil {
			return nil, err
		}
	}
	if columns.label < 0 {
		return number, nil
	}
	return number, t.writeLabels(dir, columns.head[columns.label], classes, w)
}

// tableColumns says what the columns of Nodes are.
type tableColumns struct {
	head      []string
	id, label int // label -1: none
	features  []int
	names     []string // of features
}

func (t *Tables) columns(head []string) (*tableColumns, error) {
	c := &tableColumns{head: head, label: -1}
	find := func(name string) (int, error) {
		i := slices.Index(head, name)
		if i < 0 {
			return 0, fmt.Errorf("%s: has no column %q; it has %s", t.Nodes, name, strings.Join(head, ", "))
		}
		return i, nil
	}
	var err error
	if t.ID != "" {
		if c.id, err = find(t.ID); err != nil {
			return nil, err
		}
	}
	if t.Label != "" {
		if c.label, err = find(t.Label); err != nil {
			return nil, err
		}
	}
	dropped := map[int]bool{}
	for _, name := range t.Drop {
		i, err := find(name)
		if err != nil {
			return nil, err
		}
		dropped[i] = true
	}
	for i, name := range head {
		if i != c.id && i != c.label && !dropped[i] {
			c.features, c.names = append(c.features, i), append(c.names, name)
		}
	}
	return c, nil
}

// copyNodes writes features and ids, and returns the vertex of each id and the class of each vertex by name.
func (t *Tables) copyNodes(in *tableIn, c *tableColumns, features, ids *tableOut, w *TablesWritten) (map[string]int32, []string, error) {
	number, names := map[string]int32{}, map[string]string{}
	var classes []string
	row := make([]string, len(c.features))
	for {
		record, err := in.next()
		if err == io.EOF {
			return number, classes, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if len(record) != len(c.head) {
			return nil, nil, in.fault("%d fields, the first line has %d", len(record), len(c.head))
		}
		id := record[c.id]
		if id == "" {
			return nil, nil, in.fault("the id (column %q) is empty", c.head[c.id])
		}
		if _, twice := number[id]; twice {
			return nil, nil, in.fault("the id %.40q is there twice", id)
		}
		if len(number) == maxDim {
			return nil, nil, in.fault("there are more than %d vertices", maxDim)
		}
		number[strings.Clone(id)] = int32(len(number))
		for k, i := range c.features {
			if row[k], err = t.feature(record[i], c.head[i], in, w); err != nil {
				return nil, nil, err
			}
		}
		if c.label >= 0 {
			name, known := names[record[c.label]]
			if !known {
				name = strings.Clone(record[c.label])
				names[name] = name
			}
			classes = append(classes, name)
		}
		if err := errors.Join(features.line(row...), ids.line(id)); err != nil {
			return nil, nil, err
		}
	}
}

// feature returns a field of a feature as it is written.
func (t *Tables) feature(field, column string, in *tableIn, w *TablesWritten) (string, error) {
	if field == "" {
		if t.Missing == nil {
			return "", in.fault("column %q is empty: say what stands for it (--missing 0), or leave the column out (--drop %s)", column, column)
		}
		w.Filled++
		return strconv.FormatFloat(*t.Missing, 'g', -1, 32), nil
	}
	x, err := strconv.ParseFloat(field, 32)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return "", in.fault("column %q holds %.40q, which is no number: make numbers of it, leave the column out (--drop %s), or name it if it is the label (--label %s)", column, field, column, column)
	}
	if strings.Trim(field, "0123456789+-.eE") != "" {
		return strconv.FormatFloat(x, 'g', -1, 32), nil // as number reads it
	}
	return field, nil
}

// writeLabels numbers the classes by name.
func (t *Tables) writeLabels(dir, column string, classes []string, w *TablesWritten) error {
	w.Classes = slices.Compact(slices.Sorted(slices.Values(classes)))
	w.Classes = slices.DeleteFunc(w.Classes, func(name string) bool { return name == "" })
	number := map[string]int{"": -1}
	named, err := createTable(dir, "classes.csv", column)
	if err != nil {
		return err
	}
	for i, name := range w.Classes {
		number[name] = i
		err = errors.Join(err, named.line(name))
	}
	labels, lerr := createTable(dir, "labels.csv", column)
	if err = errors.Join(err, named.close(), lerr); err != nil {
		return err
	}
	for _, name := range classes {
		if name == "" {
			w.Unlabelled++
		}
		if err = labels.line(strconv.Itoa(number[name])); err != nil {
			break
		}
	}
	return errors.Join(err, labels.close())
}

func (t *Tables) writeEdges(dir string, w *TablesWritten, number map[string]int32) error {
	in, err := openTable(t.Edges, t.Watch)
	if err != nil {
		return err
	}
	defer in.close()
	head, err := in.next()
	if err == io.EOF || err == nil && len(head) < 2 {
		return fmt.Errorf("%s: its first line names no two columns, from and to", t.Edges)
	}
	if err != nil {
		return err
	}
	if _, known := number[head[0]]; known {
		return fmt.Errorf("%s: its first line is an edge (%q is an id); it must name the columns", t.Edges, head[0])
	}
	out, err := createTable(dir, "edges.csv", "from", "to")
	if err != nil {
		return err
	}
	return errors.Join(t.copyEdges(in, out, w, number), out.close())
}

func (t *Tables) copyEdges(in *tableIn, out *tableOut, w *TablesWritten, number map[string]int32) error {
	for {
		record, err := in.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(record) < 2 {
			return in.fault("%d fields, want two ids", len(record))
		}
		ends, unknown := [2]string{}, ""
		for k, id := range record[:2] {
			v, known := number[id]
			if !known {
				unknown = id
				break
			}
			ends[k] = strconv.Itoa(int(v))
		}
		if unknown != "" || record[0] == "" || record[1] == "" {
			if !t.SkipUnknown {
				return in.fault("%.40q is no id of %s: mend it, or leave such edges out (--skip-unknown)", unknown, filepath.Base(t.Nodes))
			}
			w.Skipped++
			continue
		}
		w.Edges++
		if err := out.line(ends[:]...); err != nil {
			return err
		}
	}
}
