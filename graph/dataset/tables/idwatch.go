package tables

import (
	"slices"
	"strings"

	"capgnn/graph/dataset/internal/fields"
)

// idWatch finds ids that are different texts and may be meant as the same vertex, 1 and 1.0, and those that may be
// comments.
type idWatch struct {
	like fields.LikeIDs

	ids, marked int // those that begin as comments do
	mark        string
	markLine    int

	rounded string // the first that may have lost digits

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
	if w.rounded == "" && fields.Rounded(id) {
		w.rounded = id
	}
	w.like.See(id, func(key string) bool { _, there := number[key]; return there })
}

// remark notes what was found.
func (w *idWatch) remark(in *tableIn) {
	if note := w.like.Note(); note != "" {
		in.note("%s", note)
	}
	if w.rounded != "" {
		in.note("%s", fields.NoteRounded(w.rounded))
	}
	if w.marked > 0 && 2*w.marked < w.ids {
		in.note("line %d: %.40q is an id like others; if that line is a comment, delete it", w.markLine, w.mark)
	}
	if slices.Contains(totals, strings.ToLower(strings.Trim(w.last, " :"))) {
		in.note("line %d: %.40q, the last id, is a vertex like others; if that line holds sums of the lines above, delete it",
			w.lastLine, w.last)
	}
}

// like returns the first id by its text, of those in number, that may be meant by one that is not there; "" none.
func like(id string, number map[string]int32) string {
	best, key := "", fields.LikeKey(id)
	for other := range number {
		if (best == "" || other < best) && fields.LikeKey(other) == key {
			best = other
		}
	}
	return best
}
