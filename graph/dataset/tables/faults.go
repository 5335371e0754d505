package tables

import (
	"fmt"
	"strings"
)

const (
	// likeIDs is from how many lines on a column with something else in every line is taken for ids.
	likeIDs = 20
	// maxSeen bounds what is remembered of a column; one that has not repeated itself by then is taken for ids.
	maxSeen = 1 << 20
	// maxCategories is up to how many names a column of names is one of categories.
	maxCategories = 64
)

// columnWatch is what was seen of a column.
type columnWatch struct {
	seen     map[string]struct{} // different fields, until one repeats
	repeated bool                // or is a number that no id is

	line   int    // of the first field that is no number, 0: none
	first  string // that field
	empty  int    // such fields that are empty
	others map[string]struct{}
	text   int // fields that are no number and not empty
	lists  int // of these, those that look like lists
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

// wrong remembers a field that is no number.
func (w *columnWatch) wrong(field string, line int) {
	if w.line == 0 {
		w.line, w.first = line, strings.Clone(field)
	}
	if field == "" {
		w.empty++
		return
	}
	w.text++
	if isList(field) {
		w.lists++
	}
	if w.others == nil {
		w.others = map[string]struct{}{}
	}
	if len(w.others) <= maxCategories {
		w.others[strings.Clone(field)] = struct{}{}
	}
}

// isList reports whether a field is a list for sure, and no text with blanks.
func isList(field string) bool {
	if strings.HasPrefix(field, "[") || strings.Contains(field, "|") {
		return true
	}
	all := items(field)
	for _, item := range all {
		if name, _ := itemValue(item); name == item {
			return false
		}
	}
	return len(all) > 0
}

// fault is the error of all columns that are no numbers, with what to do about each.
func (r *nodeReader) fault(in *tableIn, lines int) error {
	first := -1
	var categories, lists, drop, missing []string
	for i, w := range r.watched {
		if w.line == 0 {
			continue
		}
		if first < 0 || w.line < r.watched[first].line {
			first = i
		}
		name := r.c.head[i]
		switch {
		case w.text == 0:
			missing = append(missing, name)
		case len(w.others) <= maxCategories && 2*len(w.others) <= lines:
			categories = append(categories, name)
		case 2*w.lists > w.text:
			lists = append(lists, name)
		default:
			drop = append(drop, name)
		}
	}
	var advice []string
	for _, a := range []struct {
		text  string
		names []string
	}{{"--categorical %s for names", categories}, {"--lists %s for lists", lists}, {"--drop %s", drop}, {"--missing 0 for empty fields of %s", missing}} {
		if a.names != nil {
			advice = append(advice, fmt.Sprintf(a.text, strings.ReplaceAll(listed(a.names), ", ", ",")))
		}
	}
	what := "is empty"
	if w := r.watched[first]; w.first != "" {
		what = fmt.Sprintf("holds %.20q, which is no number", w.first)
	}
	if more := len(categories) + len(lists) + len(drop) + len(missing) - 1; more > 0 {
		what += fmt.Sprintf(" (and so %d more)", more)
	}
	return fmt.Errorf("%s: line %d: column %q %s: give %s, or --label COLUMN for the classes", in.name, r.watched[first].line, r.c.head[first], what, strings.Join(advice, ", "))
}
