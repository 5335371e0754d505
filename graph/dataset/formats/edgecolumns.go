package formats

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"capgnn/graph/dataset/internal/fields"
)

// What a column of edges holds.
const (
	colOther = iota
	colFrom
	colTo
	colWeight
)

// columnNames are what columns of edges are called, in lower case and of letters and digits only, by what they hold. Names of one letter say so only beside each other.
var columnNames = [...][]string{
	colFrom:   {"source", "src", "from", "u", "start", "head", "id1", "node1", "n1", "sourceid", "srcid", "fromid", "startid", "sourcenode", "srcnode", "fromnode", "startnode", "fromnodeid", "sourcenodeid", "vertex1", "v1"},
	colTo:     {"target", "dst", "to", "v", "end", "tail", "dest", "destination", "id2", "node2", "n2", "targetid", "dstid", "toid", "endid", "targetnode", "dstnode", "tonode", "endnode", "tonodeid", "targetnodeid", "vertex2", "v2"},
	colWeight: {"weight", "w", "value", "edgeweight", "weights"},
}

// rowNames are what columns are called that number rows, not vertices.
var rowNames = []string{"", "unnamed0", "index", "id", "edgeid", "eid", "edge"}

// plainName returns a name in lower case without what is no letter or digit.
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, name)
}

// columnsByName returns what each column holds by the names in the first line; known is false where the names tell neither end.
func columnsByName(names []string) (columns []int, known bool, err error) {
	columns = make([]int, len(names))
	var at [len(columnNames)][]int
	for i, name := range names {
		for kind := colFrom; kind <= colWeight; kind++ {
			if slices.Contains(columnNames[kind], plainName(name)) {
				columns[i], at[kind] = kind, append(at[kind], i)
			}
		}
	}
	short := func(kind int) bool { return len(at[kind]) == 1 && len(plainName(names[at[kind][0]])) == 1 }
	for _, pair := range [][2]int{{colFrom, colTo}, {colTo, colFrom}} {
		if short(pair[0]) && !short(pair[1]) {
			columns[at[pair[0]][0]], at[pair[0]] = colOther, nil
		}
	}
	switch {
	case len(at[colFrom]) == 1 && len(at[colTo]) == 1 && len(at[colWeight]) <= 1:
		return columns, true, nil
	case len(at[colFrom])+len(at[colTo]) == 0:
		return nil, false, nil
	case len(at[colFrom]) > 1 || len(at[colTo]) > 1 || len(at[colWeight]) > 1:
		return nil, false, fmt.Errorf("several columns of %s could be the same: name one source, one target and at most one weight", quotedList(names))
	}
	return nil, false, fmt.Errorf("only one end of the edges is named among %s: name the columns source and target", quotedList(names))
}

// columnsByPlace returns what each of the columns with unknown names holds: from, to and perhaps a weight, behind one that numbers the rows.
func columnsByPlace(names []string) ([]int, error) {
	columns, rest := make([]int, len(names)), 0
	if first := plainName(names[0]); len(names) > 2 && slices.Contains(rowNames, first) {
		rest = 1
	}
	if n := len(names) - rest; n < 2 || n > 3 {
		return nil, fmt.Errorf("the columns are called %s, which tells no ends of edges: name them source, target and weight", quotedList(names))
	}
	for i := rest; i < len(names); i++ {
		columns[i] = colFrom + i - rest
	}
	return columns, nil
}

// quotedList lists a few names.
func quotedList(names []string) string {
	const shown = 6
	var all []string
	for _, name := range names[:min(shown, len(names))] {
		all = append(all, fmt.Sprintf("%.40q", name))
	}
	if more := len(names) - shown; more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}

// isName reports whether a field is a name, as columns have them, and not a value.
func isName(field string) bool {
	for _, c := range field {
		_, truth := trueOrFalse(field)
		lower := strings.TrimPrefix(strings.ToLower(field), "-")
		return (unicode.IsLetter(c) || c == '_' || c == ':') && !fields.Unknown(field) && !truth && lower != "inf" && lower != "infinity"
	}
	return false
}

// trueOrFalse reads True and False in any case of letters.
func trueOrFalse(field string) (v float64, ok bool) {
	switch {
	case strings.EqualFold(field, "true"):
		return 1, true
	case strings.EqualFold(field, "false"):
		return 0, true
	}
	return 0, false
}

// isNumberHeader reports whether a line is 0,1,2,…, as pandas names columns without names; sure says that an empty name of its index stands before them.
func isNumberHeader(line []string) (is, sure bool) {
	if len(line) > 1 && line[0] == "" {
		line, sure = line[1:], true
	}
	for i, f := range line {
		if f != fmt.Sprint(i) {
			return false, false
		}
	}
	return len(line) > 0, sure
}

// attributes reads a dict as networkx writes it behind an edge: {'weight': 2.0, 'colour': 'red'}. weight is "" if there is none.
func attributes(text string) (weight string, others []string, err error) {
	rest, ok := strings.CutPrefix(text, "{")
	for first := true; ok; first = false {
		if rest = strings.TrimLeft(rest, " "); strings.HasPrefix(rest, "}") && strings.TrimSpace(rest[1:]) == "" {
			return weight, others, nil
		}
		if !first {
			if rest, ok = strings.CutPrefix(rest, ","); !ok {
				break
			}
			rest = strings.TrimLeft(rest, " ")
		}
		key, after := pythonValue(rest)
		value := ""
		if rest, ok = strings.CutPrefix(strings.TrimLeft(after, " "), ":"); !ok || key == "" || key[0] != '\'' && key[0] != '"' {
			break
		}
		if value, rest = pythonValue(strings.TrimLeft(rest, " ")); value == "" {
			break
		}
		if key = key[1 : len(key)-1]; key == "weight" {
			weight = strings.TrimSpace(value)
		} else if !slices.Contains(others, key) && len(others) < 8 {
			others = append(others, key)
		}
	}
	return "", nil, fmt.Errorf("found %.40q behind the ids, want a weight or a dict as networkx writes it, such as {'weight': 2.0}", text)
}

// pythonValue cuts a value off a text: a string with its quotes, or what stands before the next comma, colon or brace outside brackets; "": there is none.
func pythonValue(text string) (value, rest string) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i >= len(text) {
				return "", text
			}
			if depth == 0 {
				return text[:i+1], text[i+1:]
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return text[:i], text[i:]
			}
			depth--
		case ',', ':':
			if depth == 0 {
				return text[:i], text[i:]
			}
		}
	}
	return "", text
}
