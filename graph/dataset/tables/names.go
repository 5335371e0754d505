package tables

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"capgnn/graph/dataset/internal/fields"
)

// likeID reports whether a column may be one of ids by its name.
func likeIDName(name string) bool {
	key := fields.NameKey(name)
	for _, part := range []string{"node", "vertex", "name", "key", "code", "uri", "url"} {
		if strings.HasPrefix(key, part) {
			return true
		}
	}
	return strings.HasSuffix(key, "id")
}

// ends returns the columns of edges.
func (in *tableIn) ends() (fields.EdgeColumns, error) {
	if in.lineNames {
		if _, whole := fields.Whole(in.ahead[0].record[0]); !whole {
			return fields.EdgeColumns{}, fmt.Errorf("%s: line %d: %s, the first line has %d",
				in.name, in.ahead[0].line, counted(len(in.head), "field"), len(in.head)-1)
		}
	}
	c, err := fields.EdgesByName(in.head)
	if err != nil {
		return c, fmt.Errorf("%s: %w", in.name, err)
	}
	if note := c.Note(in.head); note != "" {
		in.note("%s", note)
	}
	return c, nil
}

// isHeader reports whether the names of columns are none that an edge or a vertex could be: one is empty, as pandas
// and R have it.
func (in *tableIn) isHeader() bool {
	return slices.ContainsFunc(in.head, func(name string) bool { return name == "" || strings.HasPrefix(name, "Unnamed:") })
}

// countsColumns reports whether the names of columns are 0, 1, 2, …, as pandas writes a frame without names.
func countsColumns(head []string) bool {
	if len(head) > 1 && fields.CountsRows(head[0]) {
		head = head[1:]
	}
	for i, name := range head {
		if name != fmt.Sprint(i) {
			return false
		}
	}
	return true
}

// oneLine returns a text with single blanks in place of line ends and of what would move a terminal's cursor:
// spreadsheets break names of columns.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// quoted puts names in quotation marks.
func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strconv.Quote(name)
	}
	return out
}

// counted says how many there are of something.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// listed joins names, of many the first ones.
func listed(names []string) string {
	const shown = 8
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
