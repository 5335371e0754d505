package fields

import (
	"math"
	"strconv"
	"strings"
)

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
	if !ok || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, false
	}
	return int64(x), true
}

// Unknown reports whether a field of a table says that a value is not known, as R, pandas, Python and SQL write it.
func Unknown(field string) bool {
	switch strings.ToLower(field) {
	case "", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "none", "null", `\n`, "nil":
		return true
	}
	return field == "NaT" // pandas's date
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
