package tables

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
)

// nodeWriter writes what the survey of Nodes has told, at a second reading.
type nodeWriter struct {
	t      *Tables
	s      *survey
	w      *Written
	dir    string
	ids    *textfile.Table
	labels *textfile.Table // nil: none
	uses   []int           // of each class
	blind  int             // vertices that train and have no class
	sets   [3][]bool       // of vertices in train, val and test; nil: none
	rows   *featureRows    // nil: no features
	vertex []int32         // of each line, -1 left out
}

// writeNodes writes everything about vertices, and returns the vertex of each id, -1 for one that was left out, and the name of their
// column.
func (t *Tables) writeNodes(dir string, w *Written) (number map[string]int32, named string, err error) {
	s, err := t.survey()
	if err != nil {
		return nil, "", err
	}
	n := &nodeWriter{t: t, s: s, w: w, dir: dir}
	w.Notes = s.notes
	if err := errors.Join(n.write(), n.close()); err != nil {
		return nil, "", err
	}
	for id, line := range s.number {
		s.number[id] = n.vertex[line]
	}
	return s.number, s.c.all[s.c.id].name, n.finish()
}

func (n *nodeWriter) write() (err error) {
	name := n.s.c.all[n.s.c.id].name
	if name == "" {
		name = "id"
	}
	if n.ids, err = textfile.CreateTable(n.dir, fields.IDsFile, name); err != nil {
		return err
	}
	if c := n.s.classes; c != nil {
		n.uses = make([]int, len(c.named))
		head := []string{c.column}
		if c.sep != "" {
			head = nil
			for k, name := range c.named {
				head = append(head, fields.FeatureName(name, k))
			}
		}
		if n.labels, err = textfile.CreateTable(n.dir, "labels.csv", head...); err != nil {
			return err
		}
	}
	if n.rows, err = n.s.featureRows(n.dir, n.w); err != nil {
		return err
	}
	return n.s.again(n.line)
}

// line writes a line.
func (n *nodeWriter) line(in *tableIn, k int, record []string) error {
	if n.s.left != nil && n.s.left[k] {
		n.vertex = append(n.vertex, -1)
		n.w.LeftOut++
		return nil
	}
	n.vertex = append(n.vertex, int32(n.w.Vertices))
	n.w.Vertices++
	before := n.w.Unlabelled
	if err := errors.Join(n.ids.Line(record[n.s.c.id]), n.label(record), n.split(in, record)); err != nil {
		return err
	}
	if train := n.sets[0]; n.w.Unlabelled > before && train[len(train)-1] {
		n.blind++
	}
	if n.rows == nil {
		return nil
	}
	return n.rows.add(in, k, record)
}

func (n *nodeWriter) label(record []string) error {
	if n.labels == nil {
		return nil
	}
	c := n.s.classes
	numbers, known := c.of(record[n.s.c.label])
	if !known {
		n.w.Unlabelled++
	}
	for _, k := range numbers {
		n.uses[k]++
	}
	if c.sep == "" {
		if !known {
			return n.labels.Line("-1")
		}
		return n.labels.Line(strconv.Itoa(int(numbers[0])))
	}
	row := make([]string, len(c.named))
	for k := range row {
		row[k] = "0"
	}
	for _, k := range numbers {
		row[k] = "1"
	}
	return n.labels.Line(row...)
}

// split takes note of the set in which a vertex is.
func (n *nodeWriter) split(in *tableIn, record []string) error {
	set, of := -1, ""
	for i := range n.s.c.all {
		col := &n.s.c.all[i]
		member, ok := -1, true
		switch col.role {
		case roleSplit:
			if member, ok = setOf(record[i]); !ok {
				return in.fault("column %q holds %.20q, want train, val, test, or nothing for none of them",
					col.name, record[i])
			}
		case roleMask:
			var yes bool
			if yes, ok = fields.Truth(record[i]); !ok && !fields.Unknown(record[i]) {
				return in.fault("column %q holds %.20q, want 0 or 1, true or false: a mask says who is in a set; --drop leaves it out",
					col.name, record[i])
			}
			if yes {
				member = col.set
			}
		}
		if member < 0 {
			continue
		}
		if set >= 0 {
			return in.fault("%s and %s are both 1: a vertex is in one set only", of, col.name)
		}
		set, of = member, col.name
	}
	for k := range n.sets {
		n.sets[k] = append(n.sets[k], k == set)
	}
	return nil
}

// close ends the files that are being written.
func (n *nodeWriter) close() (err error) {
	for _, table := range []*textfile.Table{n.ids, n.labels} {
		if table != nil {
			err = errors.Join(err, table.Close())
		}
	}
	if n.rows != nil {
		err = errors.Join(err, n.rows.sink.close())
	}
	return err
}

// finish writes what is known at the end: names of classes, the split, and names of features.
func (n *nodeWriter) finish() error {
	if c := n.s.classes; c != nil {
		n.w.Classes = append(n.w.Classes, c.named...)
		var empty []string
		for k, uses := range n.uses {
			if uses == 0 {
				empty = append(empty, c.named[k])
			}
		}
		if empty != nil {
			n.w.note("%s: column %q: no vertex is of class %s", filepath.Base(n.t.Nodes), c.column, listed(empty))
		}
		if c.sep != "" && n.w.Unlabelled > 0 {
			n.w.note("%s: column %q: vertices without a label count as being of no class: %d of %d",
				filepath.Base(n.t.Nodes), c.column, n.w.Unlabelled, n.w.Vertices)
		}
		if err := writeNames(n.dir, fields.ClassesFile, c.column, c.named); err != nil {
			return err
		}
	}
	if n.s.c.split >= 0 || len(n.s.c.of(roleMask)) > 0 {
		if err := n.writeSplit(); err != nil {
			return err
		}
	}
	for _, col := range n.s.c.all {
		if (col.role == roleFeature && col.kind == cellNumber || col.role == roleNames) && col.likeID(n.s.lines) {
			n.w.IDLike = append(n.w.IDLike, col.name)
		}
	}
	if n.rows == nil {
		return nil
	}
	return n.rows.finish(n.w)
}

// writeSplit writes the sets that have a vertex.
func (n *nodeWriter) writeSplit() error {
	sizes := [3]int{}
	for k, name := range []string{"train", "val", "test"} {
		if sizes[k] = check.CountTrue(n.sets[k]); sizes[k] == 0 {
			continue
		}
		out, err := textfile.CreateTable(n.dir, name+".csv", name)
		if err != nil {
			return err
		}
		for _, in := range n.sets[k] {
			if err = out.Line(strconv.Itoa(b2i(in))); err != nil {
				break
			}
		}
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
	if sizes == [3]int{} {
		n.w.note("%s: no vertex is in a set of the split: no split is written", filepath.Base(n.t.Nodes))
		return nil
	}
	if n.blind > 0 {
		n.w.note("%s: %d of %d training vertices have no class: they are not trained on", filepath.Base(n.t.Nodes), n.blind, sizes[0])
	}
	n.w.Split = &Split{sizes[0], sizes[1], sizes[2]}
	return nil
}

// writeNames writes a file of names.
func writeNames(dir, file, head string, names []string) error {
	out, err := textfile.CreateTable(dir, file, head)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err = out.Line(name); err != nil {
			break
		}
	}
	return errors.Join(err, out.Close())
}

func (w *Written) note(format string, args ...any) {
	w.Notes = append(w.Notes, oneLine(fmt.Sprintf(format, args...)))
}
