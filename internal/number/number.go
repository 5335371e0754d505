package number

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind is what a number is of.
type Kind string

// Kinds of numbers.
const (
	Plain   Kind = "plain"   // without a unit, such as a loss: four digits that count
	Share   Kind = "share"   // 0 to 1, written in percent
	Score   Kind = "score"   // 0 to 1, written with four decimals
	Ratio   Kind = "ratio"   // how many times one thing is another
	Seconds Kind = "seconds" // a time
	Bytes   Kind = "bytes"   // an amount of memory or traffic
	Count   Kind = "count"   // a whole number
)

// Missing is written where there is no number.
const Missing = "-"

// Unit is one of the units of a kind: how many of the base unit it has, and its name.
type Unit struct {
	Size float64
	Name string
}

var units = map[Kind][]Unit{
	Seconds: {{1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}},
	Bytes:   {{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}},
	Share:   {{0.01, "%"}},
}

// Units returns the units of a kind, the smallest first; one without a name where it has none.
func (k Kind) Units() []Unit {
	if u := units[k]; u != nil {
		return u
	}
	return []Unit{{1, ""}}
}

// Text writes a number with its unit; Missing for what is no number or infinite.
func (k Kind) Text(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return Missing
	}
	switch k {
	case Count:
		return Grouped(int64(math.Round(x)))
	case Score:
		return strconv.FormatFloat(x, 'f', 4, 64)
	case Ratio:
		return digits(x, 3)
	case Share:
		return percent(100 * x)
	case Bytes:
		return bytes(x)
	case Seconds:
		return seconds(x)
	}
	return digits(x, 4)
}

// Or writes the number behind a pointer, Missing for nil.
func (k Kind) Or(x *float64) string {
	if x == nil {
		return Missing
	}
	return k.Text(*x)
}

// Rate writes how many of a unit go by in a second.
func Rate(x float64, unit string) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return Missing
	}
	return digits(x, 3) + " " + unit + "/s"
}

// Grouped writes a whole number with commas between groups of three digits.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Counted writes how many there are of a thing: 1 part, 2 parts, 2 vertices.
func Counted[T ~int | ~int64](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "vertex"); ok {
		return Grouped(int64(n)) + " " + stem + "vertices"
	}
	if strings.HasSuffix(what, "class") {
		what += "e"
	}
	return Grouped(int64(n)) + " " + what + "s"
}

// digits writes x with so many digits that count, with an exponent where it would be long otherwise.
func digits(x float64, n int) string {
	abs := math.Abs(x)
	switch {
	case x == 0:
		return "0"
	case abs >= 1e6 || abs < 1e-4:
		return strconv.FormatFloat(x, 'g', n, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(abs, 'e', n-1, 64), 64) // 0.9996 has as many decimals as 1
	decimals := max(0, n-1-int(math.Floor(math.Log10(rounded))))
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// percent writes percent with one decimal, below a tenth of one with more.
func percent(x float64) string {
	decimals := 1
	for limit := 0.095; decimals < 4 && x != 0 && math.Abs(x) < limit; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(x, 'f', decimals, 64) + " %"
}

// bytes goes to the next unit from 1000 on, so that no more than three digits stand before the point.
func bytes(x float64) string {
	u, all := 0, units[Bytes]
	for math.Abs(x)/all[u].Size >= 999.5 && u < len(all)-1 {
		u++
	}
	decimals := 0
	if x /= all[u].Size; u > 0 && math.Abs(x) < 99.95 {
		decimals = 1
	}
	return fmt.Sprintf("%.*f %s", decimals, x, all[u].Name)
}

// Coarse writes a time that is guessed: whole seconds.
func Coarse(d time.Duration) string {
	if s := math.Round(d.Seconds()); s < longTime {
		return strconv.FormatFloat(s, 'f', 0, 64) + " s"
	}
	return seconds(d.Seconds())
}

// longTime is from where on a time is written in minutes and hours, in seconds.
const longTime = 120

func seconds(x float64) string {
	abs := math.Abs(x)
	switch {
	case abs > math.MaxInt64/float64(time.Second):
		return digits(x, 3) + " s"
	case abs >= longTime-0.5:
		return time.Duration(math.Round(x) * float64(time.Second)).String()
	case x == 0:
		return "0 s"
	}
	u, all := 0, units[Seconds]
	for u < len(all)-1 && abs/all[u].Size >= 999.5 {
		u++
	}
	return digits(x/all[u].Size, 3) + " " + all[u].Name
}
