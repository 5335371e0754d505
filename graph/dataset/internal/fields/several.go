package fields

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Classes splits a field into the classes in it, between which sep stands; "": it is one.
func Classes(field, sep string) (all []string) {
	if sep == "" {
		return []string{field}
	}
	rest := OfSet(field)
	if n := len(rest); n > 1 && strings.Contains("[] () {}", rest[:1]+rest[n-1:]) {
		rest = rest[1 : n-1]
	}
	for more := true; more; {
		name, behind, quoted := CutQuoted(strings.TrimLeft(rest, " \t\n"), sep+" \t\n")
		behind = strings.TrimLeft(behind, strings.Trim(" \t\n", sep))
		if quoted && (behind == "" || strings.HasPrefix(behind, sep)) {
			_, rest, more = strings.Cut(behind, sep)
		} else {
			name, rest, more = strings.Cut(rest, sep)
			name = strings.Trim(name, " \t\n'\"")
		}
		all = append(all, name)
	}
	return all
}

// set is how Python writes sets that are empty or frozen.
var set = regexp.MustCompile(`(?s)^(?:frozen)?set\((\{.*\})?\)$`)

// OfSet returns a list as it stands in such a set, and other fields as they are.
func OfSet(field string) string {
	if m := set.FindStringSubmatch(field); m != nil {
		return m[1]
	}
	return field
}

// printed is how Python writes arrays and single values of libraries.
var printed = regexp.MustCompile(`^(array|tensor|deque|Counter|dict_keys|dict_values|(np|numpy|torch|pd)\.\w+)\(`)

var escaped = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)

// Printed says what is wrong with a part of a list, or a whole field, that Python has written; nil: nothing.
func Printed(text string) error {
	switch first, _, _ := strings.Cut(text, " "); {
	case printed.MatchString(text):
		return fmt.Errorf("%.40q is what Python prints of an array or one of its values: write lists (a.tolist())", text)
	case escaped.MatchString(text):
		return fmt.Errorf("%.40q is written in escapes of JSON: write text (json.dumps(x, ensure_ascii=False))", text)
	case first == "...":
		return errors.New("holds ..., in place of what NumPy has left out: write whole lists (a.tolist())")
	}
	return nil
}

// CutQuoted cuts a name in quotation marks off a list; one of the characters in ends, or nothing, stands behind the
// mark that ends it. Backslashes are read as in Python and JSON. quoted is false where there is no such name.
func CutQuoted(list, ends string) (name, behind string, quoted bool) {
	if list == "" || list[0] != '\'' && list[0] != '"' {
		return "", list, false
	}
	for end := 1; end < len(list); end++ {
		switch c := list[end]; {
		case c == '\\':
			end++
		case c == list[0] && (end+1 == len(list) || strings.IndexByte(ends, list[end+1]) >= 0): // else an apostrophe
			return unescaped(list[1:end], c), list[end+1:], true
		}
	}
	return "", list, false
}

// unescaped reads backslashes in a text between quotation marks; a text with other ones stays as it is.
func unescaped(text string, quote byte) string {
	var name string
	if !strings.Contains(text, `\`) || json.Unmarshal([]byte(`"`+text+`"`), &name) == nil {
		return cmp.Or(name, text)
	}
	var out []rune
	for rest := text; rest != ""; {
		r, _, tail, err := strconv.UnquoteChar(rest, 0)
		if behind, is := strings.CutPrefix(rest, `\`+string(quote)); is {
			r, tail, err = rune(quote), behind, nil
		}
		if err != nil {
			return text
		}
		out, rest = append(out, r), tail
	}
	return string(out)
}

// weakSeps are what stands between several classes in a field, and as often inside one.
const weakSeps = "/+&:"

// written says how a field is written that may be several classes, and what stands between these; list: it is several for sure.
func written(field string) (how, sep string, list bool) {
	field = OfSet(field)
	n := len(field)
	switch {
	case n > 1 && field[0] == '[' && field[n-1] == ']':
		return "['A', 'B']", ",", true
	case n > 1 && field[0] == '{' && field[n-1] == '}':
		return "{A,B}", ",", true
	case n > 1 && field[0] == ':' && strings.Contains(field[1:], ":"):
		return ":A:B", ":", true
	}
	for _, c := range "|;," + weakSeps {
		if sep = string(c); strings.Contains(field, sep) {
			return strings.Replace("A"+sep+"B", ",", ", ", 1), sep, false
		}
	}
	return "", "", false
}

// Several says how fields are written that may be several classes, and what stands between these; "": each is one. count has the lines
// of a class.
//
// Method: they may be if one is a list, if a part of one is another class, if they have fewer parts than there are of them, or if most
// lines have a bar or a semicolon.
func Several(all []string, count func(class int) int) (how, sep string) {
	known, parts := map[string]bool{}, map[string]bool{}
	for _, text := range all {
		known[text] = true
	}
	lines, split, sure := 0, 0, false
	for k, text := range all {
		form, at, list := written(text)
		weak := at != "" && strings.Contains(weakSeps, at)
		of := Classes(text, at)
		isPart := func(part string) bool { return part != text && known[part] }
		found := list || slices.ContainsFunc(of, isPart) && !(weak && slices.Contains(of, ""))
		if weak {
			of = []string{text}
		}
		for _, part := range of {
			parts[part] = true
		}
		if lines += count(k); !list && (at == "|" || at == ";") {
			split += count(k)
		}
		if at != "" && (found && !sure || how == "" && !weak) {
			how, sep = form, at
		}
		sure = sure || found
	}
	if sure || len(parts) < len(all) || 2*split > lines {
		return how, sep
	}
	return "", ""
}
