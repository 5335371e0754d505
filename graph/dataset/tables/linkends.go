package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"capgnn/graph/dataset/internal/fields"
)

// noIDs counts fields of an end that are no ids: dates, and numbers with a fraction.
type noIDs struct{ lines, dates, numbers, broken int }

func (n *noIDs) see(field string) {
	n.lines++
	if n.dates+n.numbers < n.lines-1 { // there are others
		return
	}
	if fields.Digits(field) {
		n.numbers++
	} else if x, ok := fields.Number(field); ok {
		n.numbers++
		n.broken += b2i(x != math.Trunc(x))
	} else if _, ok := date(field); ok || otherDate.MatchString(field) {
		n.dates++
	}
}

// refuseEnds refuses columns of ends that hold nothing but dates or measurements.
func (r *linkReader) refuseEnds() error {
	for k, i := range []int{r.from, r.to} {
		n, what := r.notIDs[k], "numbers with fractions"
		if n.dates == n.lines {
			what = "dates"
		}
		if n.dates == n.lines || n.numbers == n.lines && n.broken > 0 {
			return fmt.Errorf("%s: column %q, taken for an end of the edges, holds %s: call the two columns of the ends source and target",
				r.t.Edges, r.in.head[i], what)
		}
	}
	return nil
}

// side remembers on which sides vertices stand.
func (r *linkReader) side(ends [2]int32) {
	if !r.byPlace {
		return
	}
	for k, v := range ends {
		if int(v) >= len(r.sides) {
			r.sides = append(r.sides, make([]uint8, int(v)+1-len(r.sides))...)
		}
		r.sides[v] |= 1 << k
	}
}

// noteApart notes ends that are taken by place and share no vertex, and those that share one and are called as ids of two kinds.
func (r *linkReader) noteApart() {
	const few = 10 // edges that may share none by chance
	if !r.byPlace {
		return
	}
	from, to := r.in.head[r.from], r.in.head[r.to]
	shared := slices.Contains(r.sides, 3)
	switch {
	case shared && fields.SaysID(from) && fields.SaysID(to):
		r.in.note("%q and %q are read as ids of the same vertices; if they are of two kinds, give them different ids, such as u1 and m1", from, to)
	case !shared && r.w.Edges >= few:
		r.in.note("no id of column %q stands in column %q: are these two kinds of vertices, or are the ends in other columns?", from, to)
	}
}

// noteList notes the first id that may be a list of ids.
func (r *linkReader) noteList() {
	for _, id := range r.ids {
		parts := strings.FieldsFunc(id, func(c rune) bool { return strings.ContainsRune(";|,", c) })
		if len(parts) > 1 && (strings.ContainsAny(id, ";|") || !slices.ContainsFunc(parts, func(part string) bool {
			_, known := r.number[strings.TrimSpace(part)]
			return !known
		})) {
			r.in.note("%.40q is one vertex; if it is a list of several, write a line for each edge", id)
			return
		}
	}
}
