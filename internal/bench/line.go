package bench

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Cell names what was measured: settings and their values. It holds everything that decides the result but for program and
// machine.
type Cell map[string]string

// Key is a text that equal cells share.
func (c Cell) Key() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(c)) {
		b.WriteString(strconv.Quote(k) + "=" + strconv.Quote(c[k]) + " ")
	}
	return b.String()
}

// With returns the cell with more settings: pairs of name and value.
func (c Cell) With(pairs ...string) Cell {
	out := maps.Clone(c)
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// Line is the result of one cell. Names say the unit (epoch_s, bytes); a value that is not there has no meaning here.
type Line struct {
	Cell    Cell                 `json:"cell"`
	Values  map[string]float64   `json:"values,omitempty"`
	Series  map[string][]float64 `json:"series,omitempty"`
	Text    map[string]string    `json:"text,omitempty"`
	Seconds float64              `json:"seconds"` // that the cell took
}

// Has reports whether the line is there and has the value.
func (l *Line) Has(name string) bool {
	if l == nil {
		return false
	}
	_, ok := l.Values[name]
	return ok
}

// Value returns a value, 0 where there is none.
func (l *Line) Value(name string) float64 {
	if l == nil {
		return 0
	}
	return l.Values[name]
}
