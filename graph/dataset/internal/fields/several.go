package fields

import (
	"slices"
	"strings"
)

// Classes splits a field into the classes in it, between which sep stands; "": it is one.
func Classes(field, sep string) []string {
	if sep == "" {
		return []string{field}
	}
	if n := len(field); n > 1 && strings.Contains("[] () {}", field[:1]+field[n-1:]) {
		field = field[1 : n-1]
	}
	all := strings.Split(field, sep)
	for i, part := range all {
		all[i] = strings.Trim(part, " \t\n'\"")
	}
	return all
}

// weakSeps are what stands between several classes in a field, and as often inside one.
const weakSeps = "/+&:"

// written says how a field is written that may be several classes, and what stands between these; list: it is several for sure.
func written(field string) (how, sep string, list bool) {
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
