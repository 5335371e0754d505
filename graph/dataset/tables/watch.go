package tables

import (
	"math"
	"strings"

	"capgnn/graph/dataset/internal/fields"
)

const (
	// likeIDs is from how many lines on a column with something else in every line is taken for ids.
	likeIDs = 20
	// maxSeen bounds what is remembered of a column; one that has not repeated itself by then is taken for ids.
	maxSeen = 1 << 20
	// maxCategories is up to how many names a column of names is one of categories.
	maxCategories = 64
)

// sighting is a field that was seen.
type sighting struct {
	count int    // fields like it
	line  int    // of the first
	field string // the first
}

// columnWatch is what was seen of a column.
type columnWatch struct {
	seen     map[string]struct{} // different fields, until one repeats
	repeated bool                // or is a number that no id is

	of         [cellKinds]sighting // fields of features
	bits       int                 // numbers that are 0 or 1
	splitWords int                 // texts that name a set
	stray      sighting            // the first text that names none; its count is 0
	vector     int                 // numbers in each vector
	odd        sighting            // the first vector with another count, and how many numbers it has
	others     map[string]struct{} // texts, and true and false
	lists      int                 // texts that look like lists
	gaps       int                 // vectors with a number that is not known
	points     pointGroups
	answer     answer
	broken     bool // a number has a fraction

	counting       bool    // every number so far is one more than that before it
	restarting     bool    // or is 0
	last           float64 // number
	valued         bool    // a number was there
	least, largest float64
	rounding       float64 // by float32, at most
	code           string  // the first number that begins with a 0 as codes do, "" none
	coarse         bool    // it is large

	nines map[float64]int // fields that are 999, -9999 or the like, which may stand for numbers that are not known
	plain *[2]float64     // the least and the largest of the other numbers; nil: there is none

	names  map[string]int32 // of Categorical and Lists: their features
	blanks bool             // stand between the items of Lists
	bare   bareNumbers      // of Lists and Categorical
	colons colons           // of Lists
	words  map[string]int   // that stand for a field that is not known
}

// see remembers a field, until one is there twice.
func (w *columnWatch) see(field string) {
	if w.repeated || len(w.seen) == maxSeen {
		return
	}
	if w.seen == nil {
		w.seen = map[string]struct{}{}
	}
	if _, twice := w.seen[field]; twice || field == "" {
		w.repeated, w.seen = true, nil
		return
	}
	w.seen[strings.Clone(field)] = struct{}{}
}

// likeID reports whether a column holds something else in every one of so many lines.
func (w *columnWatch) likeID(lines int) bool {
	return lines >= likeIDs && !w.repeated && len(w.seen) >= min(lines, maxSeen)
}

// unknown counts a word that stands for a field that is not known.
func (w *columnWatch) unknown(field string) {
	if w.words == nil {
		w.words = map[string]int{}
	}
	w.words[strings.Clone(field)]++
}

// feature takes note of a field of a feature.
func (w *columnWatch) feature(field string, c cell, line int) {
	s := &w.of[c.kind]
	if s.count++; s.count == 1 {
		s.line, s.field = line, strings.Clone(field)
	}
	switch c.kind {
	case cellMissing:
		w.repeated, w.seen = true, nil
	case cellNumber:
		w.number(field, c.x)
		w.value(c.x)
	case cellTruth:
		w.other(field)
		w.value(c.x)
	case cellDate:
		w.value(c.x)
	case cellVector:
		if w.vector == 0 {
			w.vector = len(c.all)
		} else if w.vector != len(c.all) && w.odd.line == 0 {
			w.odd = sighting{len(c.all), line, strings.Clone(field)}
		}
		for _, x := range c.all {
			w.value(x)
			w.broken = w.broken || x != math.Trunc(x)
		}
	case cellText:
		w.text(field, line)
	}
}

// value takes note of a number.
func (w *columnWatch) value(x float64) {
	if !w.valued {
		w.least, w.largest, w.valued = x, x, true
	}
	w.least, w.largest, w.rounding = min(w.least, x), max(w.largest, x), max(w.rounding, math.Abs(float64(float32(x))-x))
}

func (w *columnWatch) number(field string, x float64) {
	if w.of[cellNumber].count == 1 {
		w.counting, w.restarting = x == 0 || x == 1, x == 0
	} else {
		w.counting = w.counting && x == w.last+1
		w.restarting = w.restarting && (x == w.last+1 || x == 0)
	}
	w.last = x
	w.points.see(field)
	digits := strings.TrimSuffix(strings.TrimLeft(field, "+-"), ".0")
	switch nines := len(digits) > 1 && strings.Trim(digits, "9") == ""; {
	case nines && w.nines == nil:
		w.nines = map[float64]int{x: 1}
	case nines:
		w.nines[x]++
	case w.plain == nil:
		w.plain = &[2]float64{x, x}
	default:
		*w.plain = [2]float64{min(w.plain[0], x), max(w.plain[1], x)}
	}
	if w.code == "" && leadingZero(field) {
		w.code = strings.Clone(field)
	}
	if _, bit := fields.Truth(field); bit {
		w.bits++
	}
	if x == math.Trunc(x) {
		w.see(field)
	} else {
		w.repeated, w.seen, w.broken = true, nil, true // no id is broken
	}
}

// isIndex reports whether a first column is an index of pandas, which repeats where pandas.concat has joined tables. One that
// reset_index has named counts from 0 on, again and again.
func (c *column) isIndex() bool {
	return (c.name == "" || strings.HasPrefix(c.name, "Unnamed:")) && !c.broken && c.least >= 0 || c.restarting
}

// leadingZero reports whether a number is written as codes are: 007.
func leadingZero(field string) bool {
	digits := strings.TrimLeft(field, "+-")
	return len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
}

func (w *columnWatch) text(field string, line int) {
	switch {
	case gapInVector(field), commaVector(field):
		w.gaps++
	case isList(field):
		w.lists++
	}
	if set, ok := setOf(field); ok && set >= 0 || ok && !fields.Unknown(field) {
		w.splitWords++
	} else if w.stray.line == 0 {
		w.stray = sighting{0, line, strings.Clone(field)}
	}
	w.other(field)
}

// other remembers a word.
func (w *columnWatch) other(field string) {
	if w.others == nil {
		w.others = map[string]struct{}{}
	}
	if len(w.others) <= maxCategories {
		w.others[strings.Clone(field)] = struct{}{}
	}
}

// known counts the fields that are known.
func (w *columnWatch) known() (n int) {
	for kind, s := range w.of {
		if cellKind(kind) != cellMissing {
			n += s.count
		}
	}
	return n
}

// most returns the kind that most fields of a feature have; 0 and 1 among true and false are these.
func (w *columnWatch) most() cellKind {
	if w.of[cellTruth].count > 0 && w.bits+w.of[cellTruth].count == w.known() {
		return cellTruth
	}
	best := cellNumber
	for _, kind := range []cellKind{cellTruth, cellDate, cellVector} {
		if w.of[kind].count > w.of[best].count {
			best = kind
		}
	}
	return best
}

// wrong returns the first field of a feature that is not what most are, its line 0: there is none. A missing field is
// wrong unless something stands for it.
func (w *columnWatch) wrong(kind cellKind, filled bool) sighting {
	first := sighting{}
	for k, s := range w.of {
		switch k := cellKind(k); {
		case s.count == 0, k == kind, k == cellMissing && filled, kind == cellTruth && k == cellNumber && w.bits == s.count:
			continue
		}
		if first.line == 0 || s.line < first.line {
			first = s
		}
	}
	if kind == cellVector && w.odd.line > 0 && (first.line == 0 || w.odd.line < first.line) {
		return w.odd
	}
	return first
}
