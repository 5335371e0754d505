package report

import (
	"math"
	"strings"

	"capgnn/internal/number"
)

// quantity says what numbers are, and so how they are written.
type quantity = number.Kind

const (
	plain   = number.Plain
	share   = number.Share
	score   = number.Score
	seconds = number.Seconds
	amount  = number.Bytes
	count   = number.Count
)

// written writes a number of a quantity so that no line is broken inside it.
func written(q quantity, x float64) string { return strings.ReplaceAll(q.Text(x), " ", "\u00a0") }

// tickUnits are the units of the numbers on an axis: long counts are written with a letter there.
func tickUnits(q quantity) []number.Unit {
	if q == count {
		return []number.Unit{{Size: 1}, {Size: 1e3, Name: "k"}, {Size: 1e6, Name: "M"}, {Size: 1e9, Name: "G"}}
	}
	return q.Units()
}

// unitFor returns the largest unit of which x has at least one, else the smallest.
func unitFor(q quantity, x float64) number.Unit {
	all := tickUnits(q)
	best := all[0]
	for _, u := range all {
		if math.Abs(x) >= u.Size {
			best = u
		}
	}
	return best
}
