package tables

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"capgnn/graph/dataset/internal/fields"
)

// idWatch finds ids that are different texts and may be meant as the same vertex, 1 and 1.0, and those that may be
// comments.
type idWatch struct {
	odd   map[string]string // ids by their keys, where these are other texts
	pair  [2]string         // the first
	pairs int

	ids, marked int // those that begin as comments do
	mark        string
	markLine    int

	last     string
	lastLine int
}

// totals are what spreadsheets call a line of sums below a table.
var totals = []string{"total", "totals", "grand total", "sum", "summe", "gesamt", "gesamtsumme", "gesamtergebnis"}

// see takes note of a new id; number has those before it.
func (w *idWatch) see(id string, line int, number map[string]int32) {
	w.last, w.lastLine = id, line
	if w.ids++; id[0] == '#' || id[0] == '%' || strings.HasPrefix(id, "//") {
		if w.marked++; w.marked == 1 {
			w.mark, w.markLine = id, line
		}
	}
	key := likeKey(id)
	other, there := w.odd[key]
	if key != id && !there {
		if w.odd == nil {
			w.odd = map[string]string{}
		}
		w.odd[key] = id
		if _, there = number[key]; there {
			other = key
		}
	}
	if !there {
		return
	}
	if w.pairs++; w.pairs == 1 {
		w.pair = [2]string{other, id}
	}
}

// remark notes what was found.
func (w *idWatch) remark(in *tableIn) {
	if w.pairs > 0 {
		look := ""
		if visible(w.pair[0]) == visible(w.pair[1]) {
			look = ", of characters that look the same (Unicode NFC and NFD, or invisible ones)"
		}
		in.note("ids %.40s and %.40s are two vertices%s%s; if they mean the same, write one of them", w.pair[0], w.pair[1], look, andMore(w.pairs))
	}
	if w.marked > 0 && 2*w.marked < w.ids {
		in.note("line %d: %.40q is an id like others; if that line is a comment, delete it", w.markLine, w.mark)
	}
	if slices.Contains(totals, strings.ToLower(strings.Trim(w.last, " :"))) {
		in.note("line %d: %.40q, the last id, is a vertex like others; if that line holds sums of the lines above, delete it",
			w.lastLine, w.last)
	}
}

// andMore says of a number of pairs how many there are beside the first.
func andMore(pairs int) string {
	if pairs < 2 {
		return ""
	}
	return fmt.Sprintf(" (and so %d more)", pairs-1)
}

// noteLike notes names that are different texts, stand for different things, and may be meant as the same.
func (in *tableIn) noteLike(what string, names []string, differ func(a, b string) bool) {
	seen := map[string]string{}
	var a, b string
	pairs := 0
	for _, name := range names {
		other, twice := seen[likeKey(name)]
		if twice && differ(other, name) {
			if pairs++; pairs == 1 {
				a, b = other, name
			}
		}
		seen[likeKey(name)] = name
	}
	if pairs == 0 {
		return
	}
	how := "are nearly the same"
	switch {
	case strings.EqualFold(a, b):
		how = "differ in the case of letters only"
	case visible(a) == visible(b):
		how = "look the same (Unicode NFC and NFD, or invisible characters)"
	}
	in.note("%s %.40q and %.40q %s%s; if they mean the same, write one of them", what, a, b, how, andMore(pairs))
}

// visible is a text in Unicode's form NFC, without characters that are not seen.
func visible(id string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Cc) {
			return -1
		}
		return r
	}, norm.NFC.String(id))
}

// likeKey is the same for ids that may be meant as the same: for 1 and 1.0, 007 and 7, Anna and anna, 'a' and a.
func likeKey(id string) string {
	if digits(id) && (id[0] != '0' || len(id) == 1) && len(id) < 16 {
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
	key := strings.Trim(strings.ToLower(visible(id)), "'\"` ")
	if x, whole := fields.Whole(key); whole {
		return strconv.FormatInt(x, 10)
	}
	return key
}

// like returns the first id by its text, of those in number, that may be meant by one that is not there; "" none.
func like(id string, number map[string]int32) string {
	best, key := "", likeKey(id)
	for other := range number {
		if (best == "" || other < best) && likeKey(other) == key {
			best = other
		}
	}
	return best
}
