package tables

import (
	"fmt"
	"io"
	"strings"

	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
)

// survey is what a first reading of Nodes tells: what its columns hold, so that a second one can write it.
type survey struct {
	t       *Tables
	c       *tableColumns
	lines   int              // of vertices
	number  map[string]int32 // line of each id, from 0
	left    []bool           // lines that are left out; nil: none
	classes *classes         // nil: no labels
	d       decimals
	shaped  bool // ids so far are written as the name of their column is
	watch   idWatch
	notes   []string
}

// survey reads Nodes to its end. All columns that are wrong are one error.
func (t *Tables) survey() (*survey, error) {
	in, err := openTable(t.Nodes, t.Watch)
	if err != nil {
		return nil, err
	}
	defer in.close()
	if in.head == nil {
		return nil, fmt.Errorf("%s: is empty, want a line that names the columns", t.Nodes)
	}
	c, err := t.columns(in)
	if err != nil {
		return nil, err
	}
	if err := t.blanksInLists(c); err != nil {
		return nil, err
	}
	s := &survey{t: t, c: c, number: map[string]int32{}, d: decimals{may: in.comma == ';' || in.comma == '\t'}}
	if c.label >= 0 {
		s.classes = &classes{file: t.Nodes, column: c.all[c.label].name, sep: t.LabelSep, seen: map[string]*classSeen{}}
	}
	s.shaped = strings.ContainsAny(c.all[c.id].name, "0123456789")
	for ; ; s.lines++ {
		record, err := in.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = s.line(in, record)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.conclude(in); err != nil {
		return nil, err
	}
	s.notes = in.notes
	return s, nil
}

// conclude says what everything is, and fills what is missing.
func (s *survey) conclude(in *tableIn) error {
	if s.lines == 0 {
		return fmt.Errorf("%s: has no lines after the line of column names", s.t.Nodes)
	}
	if err := s.c.decide(in, s.t.SplitColumn != ""); err != nil {
		return err
	}
	if err := s.fault(); err != nil {
		return err
	}
	for _, i := range append(s.c.of(roleLists), s.c.of(roleNames)...) {
		if err := s.c.all[i].vectorFault(s.t.Nodes); err != nil {
			return err
		}
		s.c.all[i].colons.remark(in, s.c.all[i].name)
	}
	if s.classes != nil {
		s.classes.decimals(&s.d)
	}
	note, err := s.d.verdict(in.name)
	if err != nil {
		return err
	}
	if note != "" {
		in.note("%s", note)
	}
	s.firstLine(in)
	s.otherIDs(in)
	s.answers(in)
	s.watch.remark(in)
	s.c.remark(in)
	for _, i := range s.c.of(roleFeature) {
		if col := &s.c.all[i]; col.kind == cellDate && col.of[cellMissing].count > 0 {
			if x, ok := number(s.t.Missing); ok {
				in.note("column %q: %g stands for dates that are empty: that is so many days since 1970-01-01", col.name, x)
			}
		}
	}
	if s.classes != nil {
		if err := s.classes.conclude(in, s.d.commas > 0); err != nil {
			return err
		}
	}
	return s.fill()
}

// line takes note of a line.
func (s *survey) line(in *tableIn, record []string) error {
	if len(record) != len(s.c.all) {
		return in.fault("%s, the first line has %d", counted(len(record), "field"), len(s.c.all))
	}
	if err := s.vertex(in, record[s.c.id]); err != nil {
		return err
	}
	for i := range s.c.all {
		col, field := &s.c.all[i], record[i]
		if s.classes != nil && (col.role == roleFeature || col.role == roleNames) {
			col.answer.see(field, record[s.c.label])
		}
		switch col.role {
		case roleFeature:
			found := look(field, s.d.may)
			if found.kind == cellNumber {
				s.d.see(field, found.comma, in.line)
			}
			col.feature(field, found, in.line)
		case roleLabel:
			if err := s.classes.see(field, in.line); err != nil {
				return in.fault("column %q: %w", col.name, err)
			}
		case roleNames, roleLists:
			col.see(field)
			if err := col.learn(field, col.role == roleLists, in.line); err != nil {
				return in.fault("column %q: %w", col.name, err)
			}
		}
	}
	return nil
}

// vertex numbers the id of a line.
func (s *survey) vertex(in *tableIn, id string) error {
	if id == "" {
		join := ""
		if s.lines == 0 {
			join = "; if that line is a second one of names (pandas MultiIndex), join the two"
		}
		return in.fault("the id (column %q) is empty%s", s.c.all[s.c.id].name, join)
	}
	if _, twice := s.number[id]; twice {
		id, what := strings.Clone(id), ""
		if name := s.t.otherID(s.c); name != "" {
			what = fmt.Sprintf("; column %q has nothing twice: --id %s", name, name)
		}
		if fields.Rounded(id) {
			what += "; a spreadsheet may have cut its digits: write all of them"
		}
		return in.fault("the id %.40q is there twice%s", id, what)
	}
	if len(s.number) == check.MaxDim {
		return in.fault("there are more than %d vertices", check.MaxDim)
	}
	id = strings.Clone(id)
	s.watch.see(id, in.line, s.number)
	s.number[id] = int32(s.lines)
	s.shaped = s.shaped && shape(id) == shape(s.c.all[s.c.id].name)
	return nil
}

// otherID returns the first column beside the ids that is called as ids may be, and in which nothing is there twice;
// "" none.
func (t *Tables) otherID(c *tableColumns) string {
	seen := map[int]map[string]struct{}{}
	for i := range c.all {
		if i != c.id && likeIDName(c.all[i].name) {
			seen[i] = map[string]struct{}{"": {}}
		}
	}
	err := t.each(func(_ *tableIn, _ int, record []string) error {
		for i, before := range seen {
			if i >= len(record) {
				return io.ErrUnexpectedEOF
			}
			if _, twice := before[record[i]]; twice {
				delete(seen, i)
				continue
			}
			before[strings.Clone(record[i])] = struct{}{}
		}
		return nil
	})
	for i := range c.all {
		if _, unique := seen[i]; unique && err == nil {
			return c.all[i].name
		}
	}
	return ""
}

// each calls line with every line of Nodes, and its number from 0. What it gives is good during the call.
func (t *Tables) each(line func(in *tableIn, k int, record []string) error) error {
	in, err := openTable(t.Nodes, t.Watch)
	if err != nil {
		return err
	}
	defer in.close()
	for k := 0; ; k++ {
		record, err := in.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = line(in, k, record)
		}
		if err != nil {
			return err
		}
	}
}

// again is each for the lines that the survey has seen.
func (s *survey) again(line func(in *tableIn, k int, record []string) error) error {
	n := 0
	err := s.t.each(func(in *tableIn, k int, record []string) error {
		if n = k + 1; n > s.lines || len(record) != len(s.c.all) {
			return in.fault("the table has changed while it was read")
		}
		return line(in, k, record)
	})
	if err == nil && n != s.lines {
		err = fmt.Errorf("%s: the table has changed while it was read", s.t.Nodes)
	}
	return err
}
