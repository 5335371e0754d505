package fields

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// SQL is how dumps of databases begin.
var SQL = regexp.MustCompile(`(?is)^(\s|;|--[^\n]*\n|/\*.*?\*/)*(create\s+(temporary\s+)?(table|database|schema|type|view|sequence|extension)\s|` +
	`insert\s+into\s|drop\s+table\s|copy\s+\S+\s*\(|set\s+\S+\s*=|pragma\s+\w+\s*=|use\s+\S+\s*;\s*\n)`)

// Number reads the field of a table as a finite number: decimal, with a point, as tables have them. Codes such as 20_29 and 0x1F,
// "inf" and "nan", and numbers beyond float64 are none.
func Number(field string) (float64, bool) {
	if field == "" || strings.Trim(field, "0123456789+-.eE") != "" {
		return 0, false
	}
	x, err := strconv.ParseFloat(field, 64)
	return x, err == nil && !math.IsInf(x, 0)
}

// Whole reads the field of a table as a whole number; 3.0 is one.
func Whole(field string) (int64, bool) {
	x, ok := Number(field)
	if !ok || x != math.Trunc(x) || math.Abs(x) >= 1<<53 { // from there on float64 merges numbers
		return 0, false
	}
	return int64(x), true
}

// Unknown reports whether a field of a table says that a value is not known, as R, pandas, Python and SQL write it.
func Unknown(field string) bool {
	switch strings.ToLower(field) {
	case "", "na", "n/a", "#na", "#n/a", "#n/a n/a", "<na>", "nan", "-nan", "none", "null", `\n`, "nil",
		"1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan":
		return true
	}
	return field == "NaT" // pandas's date
}

// likeUnknown are texts that may stand for a value that is not known, beside those of Unknown in brackets.
var likeUnknown = []string{"-1", "-1.0", "?", "??", "-", "--", "---", ".", "*", "nul", "nill",
	"unknown", "unlabeled", "unlabelled", "unclassified", "unspecified", "missing", "undefined", "undef", "undetermined",
	"blank", "empty", "not known", "not available", "not applicable", "not specified", "no label", "no data",
	"n.a.", "n.a", "n.d.",
	"#value!", "#nv", "#div/0!", "#ref!", "#name?", "#null!", "#num!"}

// LikeUnknown reports whether a text may stand for a value that is not known, though Unknown does not say so.
func LikeUnknown(text string) bool {
	lower := strings.ToLower(text)
	bare := strings.NewReplacer("_", " ", "-", " ").Replace(strings.Trim(lower, "()[]{}<>*"))
	return slices.Contains(likeUnknown, lower) || slices.Contains(likeUnknown, bare) || bare != lower && bare != "" && Unknown(bare)
}

// Doubtful returns the names of classes that may stand for none: those that LikeUnknown knows, and numbers where most are words.
func Doubtful(names []string) (doubtful []string) {
	numbers, words := 0, 0
	for _, name := range names {
		if _, number := Number(name); number {
			numbers++
		} else if !LikeUnknown(name) {
			words++
		}
	}
	for _, name := range names {
		if _, number := Number(name); LikeUnknown(name) || number && numbers <= words {
			doubtful = append(doubtful, name)
		}
	}
	return doubtful
}

// Truth reads the field of a table as true or false.
func Truth(field string) (yes, ok bool) {
	switch strings.ToLower(field) {
	case "1", "true", "t", "yes", "1.0":
		return true, true
	case "0", "false", "f", "no", "0.0":
		return false, true
	}
	return false, false
}
