package tables

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
)

// cellKind is what a field of a feature is.
type cellKind int

const (
	cellMissing cellKind = iota
	cellNumber
	cellTruth // true and false, in words
	cellDate
	cellVector // several numbers
	cellText   // none of these
	cellKinds
)

// cell is a field of a feature that was looked at.
type cell struct {
	kind  cellKind
	comma bool      // a number with a decimal comma
	x     float64   // number, truth or date
	all   []float64 // numbers of a vector
}

// look says what a field is. commas tells whether a decimal comma may stand in numbers.
func look(field string, commas bool) cell {
	if x, ok := number(field); ok {
		return cell{kind: cellNumber, x: x}
	}
	if fields.Unknown(field) {
		return cell{kind: cellMissing}
	}
	if commas && commaNumber.MatchString(field) {
		if x, ok := number(pointed(field)); ok {
			return cell{kind: cellNumber, comma: true, x: x}
		}
	}
	if yes, ok := fields.Truth(field); ok {
		return cell{kind: cellTruth, x: float64(b2i(yes))}
	}
	if days, ok := date(field); ok {
		return cell{kind: cellDate, x: days}
	}
	if items := vectorItems(field); items != nil && !(commas && commaVector(field)) {
		x := make([]float64, len(items))
		for i, item := range items {
			var ok bool
			if x[i], ok = number(item); !ok {
				return cell{kind: cellText}
			}
		}
		if !thousands.MatchString(field) {
			return cell{kind: cellVector, all: x}
		}
	}
	return cell{kind: cellText}
}

// number reads a number that float32 holds.
func number(field string) (float64, bool) {
	x, ok := fields.Number(field)
	return x, ok && check.Finite(float32(x))
}

var (
	commaNumber = regexp.MustCompile(`^[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?$`)
	thousands   = regexp.MustCompile(`^[+-]?[0-9]{1,3}(([,'’ \x{a0}\x{2009}\x{202f}][0-9]{3})+([.,][0-9]+)?|(\.[0-9]{3})+(,[0-9]+)?)$`)
	otherDate   = regexp.MustCompile(`^[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}([ T][0-9:.]+)?$`)
	clock       = regexp.MustCompile(`^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?$`)
	withUnit    = regexp.MustCompile(`^([$€£¥₹] ?[+-]?[0-9.,]+|[+-]?[0-9.,]+ ?[$€£¥₹]|[+-]?[0-9.,]+ [a-zA-Zµ°][a-zA-Z0-9²³/]{0,5})$`)
	// decimalCommas finds commas within numbers of a list between which something else stands.
	decimalCommas = regexp.MustCompile(`:\s*[+-]?\d*,\d+\s*([]);|}\s]|$)|\d,\d+\s*[;|]|` +
		`[;|]\s*[+-]?\d*,\d|\d,\d+\s+[+-]?\d+,\d`)
	percent = regexp.MustCompile(`^[+-]?[0-9.,]+ ?%$`)
)

// hasDecimalComma reports whether a list may have numbers with a decimal comma.
func hasDecimalComma(list string) bool {
	return strings.ContainsAny(list, ":;| \n") && strings.Count(list, ",") > strings.Count(list, ", ") &&
		decimalCommas.MatchString(list)
}

// commaVector reports whether a field may be numbers with a decimal comma.
func commaVector(field string) bool {
	return strings.Trim(field, "0123456789+-.,;eE[](){} \t\n") == "" && hasDecimalComma(field)
}

// pointed puts a point in place of a decimal comma.
func pointed(field string) string { return strings.Replace(field, ",", ".", 1) }

// plainNumber returns a number with a point, if commas stand in numbers.
func plainNumber(field string, commas bool) string {
	if commas && commaNumber.MatchString(field) {
		return pointed(field)
	}
	return field
}

// dates are the ways in which a date is written, from the largest part to the smallest.
var dates = []string{
	time.DateOnly, "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04:05",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04",
}

// date reads a date, with or without a time, as days since 1970 began.
func date(field string) (days float64, ok bool) {
	if len(field) < len(time.DateOnly) || field[4] != '-' {
		return 0, false
	}
	text := []byte(field)
	if len(text) > len(time.DateOnly) && text[10] == ' ' {
		text[10] = 'T'
	}
	whole := strings.TrimSuffix(string(text), " UTC")
	for _, layout := range dates {
		if t, err := time.Parse(layout, whole); err == nil {
			const day = 24 * 60 * 60
			return (float64(t.Unix()) + float64(t.Nanosecond())/1e9) / day, true
		}
	}
	return 0, false
}

// vectorItems splits a field that may be several numbers: in brackets, or between blanks or semicolons. nil: it is not.
func vectorItems(field string) []string {
	split := func(s, at string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(at, r) })
	}
	if n := len(field); n > 2 && strings.Contains("[] () {}", field[:1]+field[n-1:]) {
		items := split(field[1:n-1], " ,;\t\n")
		if len(items) == 1 && field[0] != '[' { // a negative number of an accountant
			return nil
		}
		return items
	}
	items := split(field, ";")
	if len(items) < 2 {
		items = strings.Fields(field)
	}
	if len(items) < 2 {
		return nil
	}
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
	}
	return items
}

// gapInVector reports whether a field holds several numbers, of which one is not known.
func gapInVector(field string) bool {
	gap := false
	for _, item := range vectorItems(field) {
		if _, ok := number(item); !ok && !fields.Unknown(item) {
			return false
		} else if !ok {
			gap = true
		}
	}
	return gap
}

// unknownLike reports whether a text may stand for a number that is not known.
func unknownLike(field string) bool {
	return fields.LikeUnknown(field) || fields.LikeUnknown(strings.TrimLeft(field, "+-"))
}

// noNumber says why a field is not what most fields of its column are, and what would be one.
func noNumber(field string, most cellKind) string {
	if most == cellDate {
		return "which is no date (YYYY-MM-DD)"
	}
	bare := strings.ToLower(strings.TrimLeft(field, "+-"))
	_, err := strconv.ParseFloat(field, 64)
	plain := strings.Trim(field, "0123456789+-.eE") == ""
	_, fits := fields.Number(field)
	switch {
	case bare == "inf" || bare == "infinity" || bare == "∞":
		return "which is infinite"
	case plain && (fits || errors.Is(err, strconv.ErrRange)):
		return fmt.Sprintf("which is beyond %.1e, the largest number of float32", math.MaxFloat32)
	case otherDate.MatchString(field):
		return "which is no number (dates are written as 2024-01-31)"
	case clock.MatchString(field):
		return "which is a time (write seconds, or hours)"
	case commaVector(field):
		return "whose commas may be decimal ones (write points)"
	case gapInVector(field):
		return "in which a number is not known (fill it in)"
	case percent.MatchString(field):
		return "which is no number (take the percent sign out)"
	case withUnit.MatchString(field):
		return "which is no number (take the unit or the currency out)"
	case thousands.MatchString(field):
		return "which is no number (take out what stands between thousands, and write a point before decimals)"
	case commaNumber.MatchString(field):
		return "which is no number (write a decimal point)"
	case unknownLike(field):
		return "which is no number, nor empty (leave the field empty, or write NA, and give --missing)"
	case look("["+field+"]", false).kind == cellVector:
		return "which is no number (several stand in brackets: [0.1, 0.2])"
	case strings.Contains(field, "...") && strings.HasPrefix(field, "["):
		return "a list that NumPy has shortened (write the whole array)"
	}
	return "which is no number"
}

// decimals finds out what commas in numbers are: where semicolons or tabs stand between fields, decimal commas.
type decimals struct {
	may     bool // stand in numbers
	commas  int  // numbers with a comma
	groups  int  // of them, those whose comma may stand between thousands
	comma   string
	commaAt int
	point   string // the first number with a point, in line pointAt
	pointAt int
}

var group = regexp.MustCompile(`^[+-]?[1-9][0-9]{0,2},[0-9]{3}$`)

// see takes note of a number.
func (d *decimals) see(field string, comma bool, line int) {
	switch {
	case comma:
		if d.commas++; d.commas == 1 {
			d.comma, d.commaAt = strings.Clone(field), line
		}
		if group.MatchString(field) {
			d.groups++
		}
	case d.may && d.pointAt == 0 && strings.Contains(field, "."):
		d.point, d.pointAt = strings.Clone(field), line
	}
}

// pointGroups finds columns in whose every number with a point three digits stand behind it, as between thousands.
type pointGroups struct {
	points, groups int
	first          string
	different      bool
}

var pointGroup = regexp.MustCompile(`^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$`)

func (p *pointGroups) see(field string) {
	if !strings.Contains(field, ".") {
		return
	}
	if p.points++; p.points > p.groups+1 || !pointGroup.MatchString(field) {
		return
	}
	if p.groups++; p.groups == 1 {
		p.first = strings.Clone(field)
	}
	p.different = p.different || field != p.first
}

// remark notes a column of numbers that may have points between thousands.
func (p *pointGroups) remark(in *tableIn, column string) {
	if p.different && p.points == p.groups && in.comma == ';' {
		x, _ := number(p.first)
		in.note("column %q: %s is read as %g; if its point stands between thousands, take it out", column, p.first, x)
	}
}

// verdict is the note on numbers with a comma, or the error of those that could be two things.
func (d *decimals) verdict(file string) (note string, err error) {
	switch {
	case d.commas == 0:
		return "", nil
	case d.pointAt > 0:
		return "", fmt.Errorf("%s: line %d holds %.20q, line %d %.20q: decimals follow a comma or a point, not both; write points, and no separator between thousands",
			file, d.commaAt, d.comma, d.pointAt, d.point)
	case d.groups == d.commas:
		return "", fmt.Errorf("%s: line %d holds %.20q: is its comma a decimal one or between thousands? Write a point before decimals, and nothing between thousands",
			file, d.commaAt, d.comma)
	}
	return fmt.Sprintf("the comma in numbers is read as a decimal point: %.20s in line %d is %.20s", d.comma, d.commaAt, pointed(d.comma)), nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// values returns the numbers of a field; none if it is text.
func (c *cell) values() []float64 {
	switch c.kind {
	case cellVector:
		return c.all
	case cellNumber, cellTruth, cellDate:
		return []float64{c.x}
	}
	return nil
}

// texts returns the numbers of a field of a feature as they are written; digits stay as they stand in the table.
func (c *cell) texts(field string, kind cellKind) []string {
	switch {
	case kind == cellNumber && c.kind == cellNumber && len(field) <= maxDigits:
		if c.comma {
			field = pointed(field)
		}
		return []string{field}
	case kind == cellTruth && c.kind == cellNumber: // 1.0
		return []string{strconv.Itoa(int(c.x))}
	}
	var out []string
	for _, x := range c.values() {
		out = append(out, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return out
}

// maxDigits is up to how many characters a number is written as it stands; readers of features take 64.
const maxDigits = 40
