package fields

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Digits reports whether a field is a plain whole number, as most ids that are numbers are.
func Digits(field string) bool {
	for i := range len(field) {
		if field[i] < '0' || field[i] > '9' {
			return false
		}
	}
	return field != ""
}

// rounded is how spreadsheets, R, Java and NumPy write large numbers: 1.23457E+12, 1e+06, 1.0E10.
var rounded = regexp.MustCompile(`^\d+([.,]\d+[eE]\+?|[eE]\+)\d+$`)

// Rounded reports whether an id is a number that may have been written with fewer digits than it has.
func Rounded(id string) bool { return rounded.MatchString(id) }

// NoteRounded says what such an id is.
func NoteRounded(id string) string {
	return fmt.Sprintf("ids such as %.40q are names, and not the numbers they stand for, "+
		"of which several may be one now: if ids are numbers, write all their digits (R: options(scipen = 99))", id)
}

// AndMore says of a number of pairs how many there are beside the first.
func AndMore(pairs int) string {
	if pairs < 2 {
		return ""
	}
	return fmt.Sprintf(" (and so %d more)", pairs-1)
}

// Alike says which names are different texts, stand for different things, and may be meant as the same; "": none.
func Alike(names []string, differ func(a, b string) bool) string {
	seen := map[string]string{}
	var a, b string
	pairs := 0
	for _, name := range names {
		key := LikeKey(name)
		if yes, ok := Truth(name); ok && len(name) > 1 { // and not T, which may be a letter
			key = map[bool]string{true: "1", false: "0"}[yes]
		}
		other, twice := seen[key]
		if twice && differ(other, name) {
			if pairs++; pairs == 1 {
				a, b = other, name
			}
		}
		seen[key] = name
	}
	if pairs == 0 {
		return ""
	}
	how := "are nearly the same"
	switch {
	case strings.EqualFold(a, b):
		how = "differ in the case of letters only"
	case Visible(a) == Visible(b):
		how = "look the same (Unicode NFC and NFD, or invisible characters)"
	case evened(Visible(a)) == evened(Visible(b)):
		how = "differ in blanks or dashes only"
	}
	return fmt.Sprintf("%.40q and %.40q %s%s; if they mean the same, write one of them", a, b, how, AndMore(pairs))
}

// Visible is a text in Unicode's form NFC, without characters that are not seen.
func Visible(id string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Cc) {
			return -1
		}
		return r
	}, norm.NFC.String(id))
}

// evened is a text with one plain blank for blanks of any kind and number, such as U+00A0, and '-' for each dash, such as U+2010.
func evened(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Pd, r) || r == '\u2212' {
			return '-'
		}
		return r
	}, text)), " ")
}

// LikeIDs finds ids that are different texts and may be meant as the same vertex, 1 and 1.0.
type LikeIDs struct {
	odd   map[string]string // ids by their keys, where these are other texts
	pair  [2]string         // the first
	pairs int
}

// maxOdd bounds what LikeIDs remembers.
const maxOdd = 1 << 20

// See takes note of a new id; before says which were seen.
func (l *LikeIDs) See(id string, before func(id string) bool) {
	key := LikeKey(id)
	other, there := l.odd[key]
	if key != id && !there && len(l.odd) < maxOdd {
		if l.odd == nil {
			l.odd = map[string]string{}
		}
		l.odd[key] = id
		if there = before(key); there {
			other = key
		}
	}
	if !there {
		return
	}
	if l.pairs++; l.pairs == 1 {
		l.pair = [2]string{other, id}
	}
}

// Note says what was found; "": nothing.
func (l *LikeIDs) Note() string {
	if l.pairs == 0 {
		return ""
	}
	look := ""
	switch a, b := Visible(l.pair[0]), Visible(l.pair[1]); {
	case a == b:
		look = ", of characters that look the same (Unicode NFC and NFD, or invisible ones)"
	case evened(a) == evened(b):
		look = ", which differ in blanks or dashes only"
	}
	return fmt.Sprintf("ids %.40s and %.40s are two vertices%s%s; if they mean the same, write one of them",
		l.pair[0], l.pair[1], look, AndMore(l.pairs))
}

// LikeKey is the same for ids that may be meant as the same: for 1 and 1.0, 007 and 7, Anna and anna, 'a' and a, and for kinds of
// blanks and dashes.
func LikeKey(id string) string {
	if Digits(id) && (id[0] != '0' || len(id) == 1) && len(id) < 16 {
		return id
	}
	letters, plain := false, true
	for i := range len(id) {
		c := id[i]
		letters = letters || c >= 'a' && c <= 'z' && c != 'e'
		plain = plain && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	if plain && letters {
		return id
	}
	key := strings.Trim(evened(strings.ToLower(Visible(id))), "'\"` ")
	if x, whole := Whole(key); whole {
		return strconv.FormatInt(x, 10)
	}
	return key
}
