package report

import (
	"fmt"
	"math"
	"strconv"
)

// quantity says what numbers are, and so how they are written.
type quantity string

const (
	plain   quantity = "plain" // a number without a unit
	share   quantity = "share" // 0 to 1, written in percent
	score   quantity = "score" // 0 to 1, written as it is
	seconds quantity = "seconds"
	amount  quantity = "bytes"
	count   quantity = "count" // whole
)

// unit is one of the units of a quantity: how many of the base unit it has, and its name.
type unit struct {
	size float64
	name string
}

var units = map[quantity][]unit{
	seconds: {{1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}},
	amount:  {{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}},
	count:   {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}},
	share:   {{0.01, "%"}},
	plain:   {{1, ""}},
	score:   {{1, ""}},
}

// unitFor returns the largest unit of which x has at least one, else the smallest.
func (q quantity) unitFor(x float64) unit {
	best := units[q][0]
	for _, u := range units[q] {
		if math.Abs(x) >= u.size {
			best = u
		}
	}
	return best
}

// text writes a number with its unit, - for what is not there.
func (q quantity) text(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "-"
	}
	if q == count && math.Abs(x) < 1e6 {
		return grouped(int64(math.Round(x)))
	}
	u := q.unitFor(x)
	number := digits(x / u.size)
	switch {
	case q == score:
		number = strconv.FormatFloat(x, 'f', 4, 64)
	case q == amount && u.size == 1:
		number = strconv.FormatFloat(x, 'f', 0, 64)
	}
	switch u.name {
	case "":
		return number
	case "k", "M", "G":
		return number + u.name
	}
	return number + "\u00a0" + u.name
}

// digits writes x with about four significant digits, whole numbers as they are, and without an exponent where that is short.
func digits(x float64) string {
	abs := math.Abs(x)
	switch {
	case x == math.Trunc(x) && abs < 1e6:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case abs >= 1e6 || abs < 1e-4:
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	decimals := max(0, 3-int(math.Floor(math.Log10(abs))))
	return strconv.FormatFloat(x, 'f', min(decimals, 6), 64)
}

// grouped writes a whole number with thin spaces between thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	first := len(s) % 3
	if n < 0 && first == 1 {
		first = 4
	}
	out := s[:min(first, len(s))]
	for i := min(first, len(s)); i < len(s); i += 3 {
		if out != "" {
			out += "\u202f"
		}
		out += s[i : i+3]
	}
	return out
}
