package jaca

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"capgnn/gpu"
)

// Size is the wanted size of a cache. The zero Size is auto: the result of Algorithm 1.
type Size struct {
	unit   sizeUnit
	amount float64 // rows, per cent or bytes
}

type sizeUnit uint8

const (
	sizeAuto sizeUnit = iota
	sizeRows
	sizePercent
	sizeBytes
)

// maxAmount bounds rows and bytes: every whole number below it is a float64.
const maxAmount = 1 << 53

// byteUnits are the units of an amount of memory; longer names come first.
var byteUnits = []struct {
	name  string
	bytes float64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// Rows returns the size of a cache with n slots.
func Rows(n int) Size { return Size{sizeRows, float64(n)} }

// Percent returns the size of a cache with this share of Algorithm 1's union.
func Percent(p float64) Size { return Size{sizePercent, p} }

// ParseSize reads `auto`, a number of rows such as 20000, a share of Algorithm 1's union such as 20%, or memory such as 2GiB.
func ParseSize(s string) (Size, error) {
	if s == "auto" {
		return Size{}, nil
	}
	number, unit, scale := s, sizeRows, 1.0
	if t, ok := strings.CutSuffix(s, "%"); ok {
		number, unit = t, sizePercent
	} else {
		for _, u := range byteUnits {
			if t, ok := strings.CutSuffix(s, u.name); ok {
				number, unit, scale = t, sizeBytes, u.bytes
				break
			}
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	bad := err != nil || strings.Trim(number, "0123456789.") != "" || x*scale >= maxAmount
	switch unit {
	case sizeRows:
		bad = bad || x != math.Trunc(x) || strings.Contains(number, ".")
	case sizePercent:
		bad = bad || x > 100
	}
	if bad {
		return Size{}, fmt.Errorf("%q is not a cache size: give rows (20000), a share (20%%), memory (2GiB) or auto", s)
	}
	switch unit {
	case sizeBytes:
		return Size{sizeBytes, math.Floor(x * scale)}, nil
	case sizePercent:
		return Percent(x), nil
	}
	return Size{sizeRows, x}, nil
}

// String returns a text that ParseSize reads as the same size.
func (s Size) String() string {
	switch s.unit {
	case sizeRows:
		return strconv.FormatFloat(s.amount, 'f', -1, 64)
	case sizePercent:
		return strconv.FormatFloat(s.amount, 'f', -1, 64) + "%"
	case sizeBytes:
		return strconv.FormatFloat(s.amount, 'f', -1, 64) + "B"
	}
	return "auto"
}

// rows returns the slots that are wanted: union is Algorithm 1's, slot the bytes of one slot, fit as many as memory holds. No
// more than union are of use. What was asked for in numbers and does not fit is an error; auto and shares of the union that
// do not fit are one only if explicit.
func (s Size) rows(union int, slot gpu.Bytes, fit int) (int, error) {
	n := union
	switch s.unit {
	case sizeAuto:
		return min(fit, union), nil
	case sizeRows:
		n = int(min(s.amount, float64(union)))
	case sizePercent:
		n = int(s.amount * float64(union) / 100)
	case sizeBytes:
		n = int(min(s.amount/float64(slot), float64(union)))
	}
	if n > fit {
		return 0, &TooLarge{Want: n, Fit: fit, Slot: slot}
	}
	return n, nil
}

// TooLarge says that a cache of the wanted size does not fit.
type TooLarge struct {
	Cache     string    // "global cache" or "local cache of part 3"
	Want, Fit int       // rows
	Slot      gpu.Bytes // per row
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s: %d rows of %d bytes do not fit, %d do: ask for auto or at most %d", e.Cache, e.Want, e.Slot, e.Fit, e.Fit)
}
