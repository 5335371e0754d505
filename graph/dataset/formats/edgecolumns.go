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

// edgeColumns returns what each column holds by the names in the first line.
func edgeColumns(names []string) (columns []int, c fields.EdgeColumns, err error) {
	c, err = fields.EdgesByName(names)
	if err == nil && !c.Named && len(names) > c.To+2 {
		err = fmt.Errorf("the columns are called %s, which does not say where the ends of edges are: name them source, target and weight", fields.Quoted(names))
	}
	if err != nil {
		return nil, c, err
	}
	columns = make([]int, len(names))
	columns[c.From], columns[c.To] = colFrom, colTo
	if at := max(c.Weight, c.Third); at >= 0 {
		columns[at] = colWeight
	}
	return columns, c, nil
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
	return "", nil, fmt.Errorf("found %.40q after the ids, want a weight or a dict as networkx writes it, such as {'weight': 2.0}", text)
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
