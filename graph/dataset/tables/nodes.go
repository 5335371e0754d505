package tables

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/textfile"
)

// columnKind says what becomes of a column of Nodes.
type columnKind int

const (
	columnLeft   columnKind = iota // the id, the label, or none of the features
	columnNumber                   // a feature
	columnNames                    // Categorical
	columnLists                    // Lists
)

// tableColumns says what the columns of Nodes are.
type tableColumns struct {
	head      []string
	kind      []columnKind
	id, label int // label -1: none
}

// of lists the columns of one kind.
func (c *tableColumns) of(kind columnKind) []int {
	var out []int
	for i, k := range c.kind {
		if k == kind {
			out = append(out, i)
		}
	}
	return out
}

// named returns the names of columns.
func (c *tableColumns) named(columns []int) []string {
	out := make([]string, len(columns))
	for k, i := range columns {
		out[k] = c.head[i]
	}
	return out
}

// columns reads the line of names. All names that it lacks are one error.
func (t *Tables) columns(head []string) (*tableColumns, error) {
	c := &tableColumns{head: head, kind: slices.Repeat([]columnKind{columnNumber}, len(head)), label: -1}
	var missing []string
	find := func(name string) int {
		i := slices.Index(head, name)
		if i < 0 {
			missing = append(missing, strconv.Quote(name))
		}
		return max(i, 0)
	}
	if t.ID != "" {
		c.id = find(t.ID)
	}
	if t.Label != "" {
		c.label = find(t.Label)
	}
	for _, list := range []struct {
		names []string
		kind  columnKind
	}{{t.Categorical, columnNames}, {t.Lists, columnLists}, {t.Drop, columnLeft}} {
		for _, name := range list.names {
			c.kind[find(name)] = list.kind
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("%s: has no column %s; it has %s", t.Nodes, strings.Join(missing, ", "), listed(head))
	}
	if c.kind[c.id] = columnLeft; c.label >= 0 {
		c.kind[c.label] = columnLeft
	}
	return c, nil
}

// listed joins names, of many the first ones.
func listed(names []string) string {
	const shown = 8
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// writeNodes returns the vertex of each id.
func (t *Tables) writeNodes(dir string, w *Written) (map[string]int32, error) {
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
	ids, err := textfile.CreateTable(dir, "ids.csv", columns.head[columns.id])
	if err != nil {
		return nil, err
	}
	sink, err := t.featureSink(dir, columns)
	if err != nil {
		return nil, errors.Join(err, ids.Close())
	}
	nodes := &nodeReader{t: t, c: columns, w: w, number: map[string]int32{}, watched: make([]columnWatch, len(head))}
	if err := errors.Join(nodes.copy(in, sink, ids), ids.Close()); err != nil {
		return nil, errors.Join(err, sink.abandon())
	}
	if w.Vertices = len(nodes.number); w.Vertices == 0 {
		return nil, errors.Join(fmt.Errorf("%s: has no lines after the line of column names", t.Nodes), sink.abandon())
	}
	if w.Features, err = sink.finish(nodes.number, w); err != nil {
		return nil, err
	}
	if columns.label < 0 {
		return nodes.number, nil
	}
	return nodes.number, t.writeLabels(dir, columns.head[columns.label], nodes.classes, w)
}

// nodeReader reads the lines of Nodes.
type nodeReader struct {
	t       *Tables
	c       *tableColumns
	w       *Written
	number  map[string]int32 // vertex of each id
	classes []string         // of each vertex, by name
	watched []columnWatch    // by column
}

// copy hands features to sink and writes ids. Columns that are no numbers are all looked at before they are an error.
func (r *nodeReader) copy(in *tableIn, sink featureSink, ids *textfile.Table) error {
	classNames := map[string]string{}
	lines, bad := 0, false
	for ; ; lines++ {
		record, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		id, err := r.vertex(record, in)
		if err != nil {
			return err
		}
		good, err := r.features(record, in)
		if err != nil {
			return err
		}
		if bad = bad || !good; bad {
			continue
		}
		if r.c.label >= 0 {
			name, known := classNames[record[r.c.label]]
			if !known {
				name = strings.Clone(record[r.c.label])
				classNames[name] = name
			}
			r.classes = append(r.classes, name)
		}
		if err := errors.Join(sink.row(record), ids.Line(id)); err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	if bad {
		return r.fault(in, lines)
	}
	for i, w := range r.watched {
		if w.likeID(lines) {
			r.w.IDLike = append(r.w.IDLike, r.c.head[i])
		}
	}
	return nil
}

// vertex numbers the id of a line.
func (r *nodeReader) vertex(record []string, in *tableIn) (id string, err error) {
	if len(record) != len(r.c.head) {
		return "", in.fault("%d fields, the first line has %d", len(record), len(r.c.head))
	}
	id = record[r.c.id]
	if id == "" {
		return "", in.fault("the id (column %q) is empty", r.c.head[r.c.id])
	}
	if _, twice := r.number[id]; twice {
		return "", in.fault("the id %.40q is there twice", id)
	}
	if len(r.number) == check.MaxDim {
		return "", in.fault("there are more than %d vertices", check.MaxDim)
	}
	r.number[strings.Clone(id)] = int32(len(r.number))
	return id, nil
}

// features looks at the fields of a line that are features and makes them what sinks read: numbers, with Missing in place of empty
// ones. good is false if one is no number.
func (r *nodeReader) features(record []string, in *tableIn) (good bool, err error) {
	good = true
	for i, kind := range r.c.kind {
		field := record[i]
		switch kind {
		case columnNames:
			r.watched[i].see(field)
		case columnNumber:
			if field == "" && r.t.Missing != nil {
				r.w.Filled++
				record[i] = strconv.FormatFloat(*r.t.Missing, 'g', -1, 32)
				r.watched[i].repeated = true
				continue
			}
			x, err := strconv.ParseFloat(field, 32)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				r.watched[i].wrong(field, in.lineNumber())
				good = false
				continue
			}
			if x == math.Trunc(x) {
				r.watched[i].see(field)
			} else {
				r.watched[i].repeated = true // no id is broken
			}
			if strings.Trim(field, "0123456789+-.eE") != "" {
				record[i] = strconv.FormatFloat(x, 'g', -1, 32) // as number reads it
			}
		}
	}
	return good, nil
}
