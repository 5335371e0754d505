package tables

import (
	"strconv"
	"strings"

	"capgnn/graph/dataset/internal/fields"
)

// answer finds a column that tells the class of every vertex.
type answer struct {
	class   map[string]string // by field
	lines   int               // with a field and a class
	several bool              // classes are there
	no      bool              // it is none
}

// see takes note of the field of a vertex, and its class.
func (a *answer) see(field, class string) {
	if a.no || fields.Unknown(field) || fields.Unknown(class) {
		return
	}
	a.lines++
	if before, known := a.class[field]; known {
		a.no = before != class
	} else if a.no = len(a.class) == maxCategories; !a.no {
		if a.class == nil {
			a.class = map[string]string{}
		}
		for _, other := range a.class {
			a.several = a.several || other != class
			break
		}
		a.class[strings.Clone(field)] = strings.Clone(class)
	}
	if a.no {
		a.class = nil
	}
}

// tells reports whether the class is told by what is read of a column, too: sets, numbers, true and false, however they are written.
func (a *answer) tells(col *column) bool {
	read := map[string]string{} // the class by what is read
	for field, class := range a.class {
		as := field
		x, isNumber := number(field)
		yes, isTruth := fields.Truth(field)
		switch {
		case col.role == roleSplit:
			set, _ := setOf(field)
			as = strconv.Itoa(set)
		case col.role == roleFeature && col.kind == cellTruth && isTruth:
			as = strconv.FormatBool(yes)
		case col.role == roleFeature && isNumber:
			as = strconv.FormatFloat(x, 'g', -1, 32)
		}
		if other, known := read[as]; known && other != class {
			return false
		}
		read[as] = class
	}
	return true
}

// answers notes columns that tell the class: with few values, of at least two vertices each.
func (s *survey) answers(in *tableIn) {
	const chance = 10 // lines below which a column may do so by chance
	for i := range s.c.all {
		col := &s.c.all[i]
		a := &col.answer
		if col.role == roleNone || !a.several || a.no || a.lines < chance || 2*len(a.class) > a.lines || !a.tells(col) {
			continue
		}
		if col.role == roleSplit {
			in.note("column %q alone tells the class of every vertex, and the set of each: the sets are of different classes, so choose another split", col.name)
			continue
		}
		in.note("column %q alone determines the class of every vertex: if it is the class under another name, leave it out with --drop", col.name)
	}
}
