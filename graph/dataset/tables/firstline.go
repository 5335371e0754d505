package tables

import (
	"strconv"
	"strings"
	"unicode"

	"capgnn/graph/dataset/internal/fields"
)

// firstLine notes what makes the names of columns look like a vertex: a table without names would lose its first one.
func (s *survey) firstLine(in *tableIn) {
	id := s.c.all[s.c.id].name
	if fields.IsID(id) || in.isHeader() || s.t.ID != "" {
		return
	}
	name, why := "", ""
	if s.shaped {
		name, why = id, ", as its ids are written"
	}
	for i := range s.c.all {
		col := &s.c.all[i]
		_, known := col.names[col.name]
		_, number := fields.Number(col.name)
		switch {
		case name != "" || i == s.c.id:
		case number && !countsFrom(in.head[1:]):
			name = col.name
		case known || i == s.c.label && s.classes.seen[col.name] != nil:
			name, why = col.name, ", which also stands in that column"
		}
	}
	if name != "" {
		in.note("its first line names a column %q%s; if that line is a vertex, put a line of names before it", name, why)
	}
}

// otherIDs notes a column that says that it has the ids, and holds something else in every line, where another one is
// taken for the ids only because it is the first.
func (s *survey) otherIDs(in *tableIn) {
	if s.c.idByName || likeIDName(in.head[0]) {
		return
	}
	for i := range s.c.all {
		if col := &s.c.all[i]; col.role == roleFeature && fields.SaysID(col.name) && !col.repeated {
			in.note("ids are what the first column, %q, holds; if they are in column %q, give --id %s", in.head[0], col.name, col.name)
			return
		}
	}
}

// countsFrom reports whether names of columns count from 0 or 1.
func countsFrom(head []string) bool {
	for i, name := range head {
		if name != strconv.Itoa(i) && name != strconv.Itoa(i+1) || i > 0 && name == head[i-1] {
			return false
		}
	}
	return true
}

// shape is a text with 9 in place of its digits, and a of its letters.
func shape(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '9'
		case unicode.IsLetter(r):
			return 'a'
		}
		return r
	}, text)
}
