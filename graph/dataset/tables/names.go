package tables

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"capgnn/graph/dataset/internal/fields"
)

// nameKey returns what names of columns are compared by, where they are no user's: lower-case letters and digits. A
// type behind a colon, as Neo4j has it, does not count, unless it says what the column is: age:int is age,
// :START_ID(Person) is startid.
func nameKey(name string) string {
	name = strings.ToLower(name)
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		kind, _, _ := strings.Cut(name[i+1:], "(")
		switch kind {
		case "id", "start_id", "end_id", "label", "type", "ignore":
			name = kind
		default:
			if name = name[:i]; name == "" {
				name = kind
			}
		}
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
}

// endKey is nameKey without what says that a column is of vertices: source_id, FromNodeId, node1.
func endKey(name string) string {
	key := nameKey(name)
	for _, affix := range []string{"id", "node", "vertex"} {
		if rest := strings.TrimSuffix(key, affix); rest != "" {
			key = rest
		}
		if rest := strings.TrimPrefix(key, affix); rest != "" {
			key = rest
		}
	}
	return key
}

// endNames are what the two ends of edges are called.
var endNames = [][2]string{
	{"source", "target"}, {"src", "dst"}, {"src", "dest"}, {"source", "destination"}, {"source", "dest"}, {"from", "to"}, {"u", "v"},
	{"1", "2"}, {"head", "tail"}, {"start", "end"}, {"sender", "receiver"}, {"citing", "cited"}, {"origin", "destination"},
}

// noEnds are names of columns that are no end of an edge.
var noEnds = []string{"weight", "weights", "w", "type", "edgeid", "relation", "relationship", "timestamp", "time", "date", "year"}

// isWeight reports whether a column is called as weights are.
func isWeight(name string) bool {
	return slices.Contains([]string{"weight", "weights", "w", "value", "strength"}, nameKey(name))
}

// isIndex reports whether a column is called as pandas and R call the one that counts lines.
func isIndex(name string) bool {
	return name == "" || name == "index" || strings.HasPrefix(name, "Unnamed:")
}

// isID reports whether a column is called as ids are.
func isID(name string) bool {
	return slices.Contains([]string{"id", "nodeid", "vertexid"}, nameKey(name))
}

// likeID reports whether a column may be one of ids by its name.
func likeIDName(name string) bool {
	key := nameKey(name)
	for _, part := range []string{"node", "vertex", "name", "key", "code", "uri", "url"} {
		if strings.HasPrefix(key, part) {
			return true
		}
	}
	return strings.HasSuffix(key, "id")
}

// endColumns finds the columns of the ends of edges by their names.
func endColumns(head []string) (from, to int, found bool) {
	for _, key := range []func(name string) string{nameKey, endKey} {
		keys := make([]string, len(head))
		for i, name := range head {
			if _, number := fields.Number(name); !number { // which pandas numbers columns with
				keys[i] = key(name)
			}
		}
		for _, pair := range endNames {
			from, to = slices.Index(keys, pair[0]), slices.Index(keys, pair[1])
			if from < 0 || to < 0 || pair[0] == "start" && max(from, to) > 1 && nameKey(head[from]) == "start" { // times
				continue
			}
			return from, to, true
		}
	}
	return 0, 1, false
}

// ends returns the columns of the ends of edges: by their names, else the first two, if their names do not say
// something else.
func (in *tableIn) ends() (from, to int, named bool, err error) {
	if len(in.head) < 2 {
		return 0, 0, false, fmt.Errorf("%s: its first line names no two columns, from and to", in.name)
	}
	if in.lineNames {
		if _, counted := fields.Whole(in.ahead[0].record[0]); !counted {
			return 0, 0, false, fmt.Errorf("%s: line %d: %d fields, the first line has %d",
				in.name, in.ahead[0].line, len(in.head), len(in.head)-1)
		}
	}
	if from, to, named = endColumns(in.head); named {
		for _, i := range []int{from, to} {
			if k := slices.Index(in.head[i+1:], in.head[i]); k >= 0 {
				return 0, 0, false, fmt.Errorf("%s: columns %d and %d are both called %q: rename one",
					in.name, i+1, i+k+2, in.head[i])
			}
		}
		if from != 0 || to != 1 {
			in.note("edges go from column %q to column %q", in.head[from], in.head[to])
		}
		return from, to, true, nil
	}
	if isIndex(in.head[0]) && (in.head[0] != "index" || len(in.head) > 2) {
		if from, to = 1, 2; len(in.head) < 3 {
			return 0, 0, false, fmt.Errorf("%s: its first line names no two columns beside the one that counts lines: name them source and target",
				in.name)
		}
	}
	for _, pair := range endNames {
		if len(pair[0]) > 1 && (endKey(in.head[from]) == pair[1] || endKey(in.head[to]) == pair[0]) {
			return 0, 0, false, in.unclearEnds()
		}
	}
	maybe := 0 // columns that may be ends
	for _, name := range in.head {
		maybe += b2i(!slices.Contains(noEnds, nameKey(name)))
	}
	if slices.Contains(noEnds, nameKey(in.head[from])) || slices.Contains(noEnds, nameKey(in.head[to])) || isID(in.head[from]) && maybe > 2 {
		return 0, 0, false, in.unclearEnds()
	}
	return from, to, false, nil
}

func (in *tableIn) unclearEnds() error {
	return fmt.Errorf("%s: which columns are the ends of edges? It has %s: call two of them source and target",
		in.name, listed(in.head))
}

// isHeader reports whether the names of columns are none that an edge or a vertex could be: one is empty, as pandas
// and R have it.
func (in *tableIn) isHeader() bool {
	return slices.ContainsFunc(in.head, func(name string) bool { return name == "" || strings.HasPrefix(name, "Unnamed:") })
}

// countsColumns reports whether the names of columns are 0, 1, 2, …, as pandas writes a frame without names.
func countsColumns(head []string) bool {
	if len(head) > 1 && isIndex(head[0]) {
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

// listed joins names, of many the first ones.
func listed(names []string) string {
	const shown = 8
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
