package tables

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
)

// Tables are two tables with names in them, as databases and spreadsheets write them: one line per vertex, one per edge.
// Fields stand between commas, semicolons or tabs, whichever the first line has most of, and may be quoted.
type Tables struct {
	Nodes  string // file; its first line names the columns
	Edges  string // file; its first two columns are ids of Nodes, from and to, behind a first line that names them
	ID     string // column of Nodes with the ids; "" = the first
	Label  string // column with the classes, by any name; empty fields are unlabelled; "" = no labels
	Weight string // column of Edges with their weights; "" = they have none
	Drop   []string
	// Categorical are columns of names: each name becomes a feature, 1 where it stands. Lists are columns whose fields hold
	// several, NAME or NAME:VALUE, between blanks, commas, semicolons or bars.
	Categorical, Lists []string
	// Features is a JSON file {"ID": [FEATURE, …], …} of features by number beside those of Nodes; "" = none.
	Features string
	// Missing stands for an empty field of a feature; nil: one is an error.
	Missing *float64
	// SkipUnknown leaves out edges with an id that Nodes does not have; else one is an error.
	SkipUnknown bool
	Watch       dataset.Watch // is told what was read; nil: nobody
}

// Written says what became of tables.
type Written struct {
	Vertices   int      `json:"vertices"`
	Edges      int64    `json:"edges"`
	Features   []string `json:"features"`
	Classes    []string `json:"classes"`
	Unlabelled int      `json:"unlabelled"`
	Filled     int64    `json:"filled"`  // empty fields for which Missing stands
	Skipped    int64    `json:"skipped"` // edges and lists of features with an unknown id
	Sparse     bool     `json:"sparse"`  // features are features.npz, and their names columns.csv
	IDLike     []string `json:"id_like"` // columns of features that hold something else in every line, as ids do
}

// WriteCSV writes the tables as a CSV folder that Load reads: edges.csv, features.csv and labels.csv with numbers in place of
// names, and ids.csv and classes.csv, whose line i behind the first is the name of vertex or class i. More than denseColumns
// features that are not all columns of numbers are written as a SciPy matrix, features.npz, and their names as columns.csv. Vertices have the order
// of their lines, classes that of their names. dir must be there and empty.
func (t *Tables) WriteCSV(dir string) (*Written, error) {
	w := &Written{Features: []string{}, Classes: []string{}, IDLike: []string{}}
	number, err := t.writeNodes(dir, w)
	if err != nil {
		return nil, err
	}
	return w, t.writeEdges(dir, w, number)
}

// writeLabels numbers the classes by name.
func (t *Tables) writeLabels(dir, column string, classes []string, w *Written) error {
	w.Classes = slices.Compact(slices.Sorted(slices.Values(classes)))
	w.Classes = slices.DeleteFunc(w.Classes, func(name string) bool { return name == "" })
	number := map[string]int{"": -1}
	named, err := textfile.CreateTable(dir, fields.ClassesFile, column)
	if err != nil {
		return err
	}
	for i, name := range w.Classes {
		number[name] = i
		err = errors.Join(err, named.Line(name))
	}
	labels, lerr := textfile.CreateTable(dir, "labels.csv", column)
	if err = errors.Join(err, named.Close(), lerr); err != nil {
		return err
	}
	for _, name := range classes {
		if name == "" {
			w.Unlabelled++
		}
		if err = labels.Line(strconv.Itoa(number[name])); err != nil {
			break
		}
	}
	return errors.Join(err, labels.Close())
}

func (t *Tables) writeEdges(dir string, w *Written, number map[string]int32) error {
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
	names, weight := []string{"from", "to"}, -1
	if t.Weight != "" {
		if weight = slices.Index(head, t.Weight); weight < 0 {
			return fmt.Errorf("%s: has no column %q; it has %s", t.Edges, t.Weight, listed(head))
		}
		names = append(names, "weight")
	}
	out, err := textfile.CreateTable(dir, "edges.csv", names...)
	if err != nil {
		return err
	}
	return errors.Join(t.copyEdges(in, out, w, number, weight), out.Close())
}

// copyEdges copies edges, and their weights, which stand in a column; -1: there are none.
func (t *Tables) copyEdges(in *tableIn, out *textfile.Table, w *Written, number map[string]int32, weight int) error {
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
				return in.fault("%.40q is not an id in %s: correct it, or skip such edges with --skip-unknown", unknown, filepath.Base(t.Nodes))
			}
			w.Skipped++
			continue
		}
		w.Edges++
		line := ends[:]
		if weight >= 0 {
			text := ""
			if weight < len(record) {
				text = record[weight]
			}
			x, err := strconv.ParseFloat(text, 32)
			if err != nil || x-x != 0 {
				return in.fault("column %q: %.40q is not a number, which a weight is", t.Weight, text)
			}
			line = append(line, strconv.FormatFloat(x, 'g', -1, 32))
		}
		if err := out.Line(line...); err != nil {
			return err
		}
	}
}
