package tables

import (
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

// answers notes columns that tell the class: with few values, of at least two vertices each.
func (s *survey) answers(in *tableIn) {
	const chance = 10 // lines below which a column may do so by chance
	for i := range s.c.all {
		col := &s.c.all[i]
		if a := &col.answer; col.role != roleNone && a.several && !a.no && a.lines >= chance && 2*len(a.class) <= a.lines {
			in.note("column %q alone tells the class of every vertex: if it is the class in other words, leave it out with --drop", col.name)
		}
	}
}
