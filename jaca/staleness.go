package jaca

import (
	"fmt"
	"strconv"
	"strings"
)

// Staleness is how old rows may be that are used: at most Bound epochs. If EPS is above 0 each layer has a period of its own,
// which a Controller sets so that drift stays under EPS.
type Staleness struct {
	Bound int     // epochs, 0 to MaxStaleness; at least 1 with EPS
	EPS   float64 // relative drift; 0 = a fixed period
}

// Auto reports whether periods adapt.
func (s Staleness) Auto() bool { return s.EPS > 0 }

// ParseStaleness reads a number of epochs such as 4, or auto:EPS or auto:EPS,MAX such as auto:0.05,8; without MAX it is
// MaxStaleness.
func ParseStaleness(text string) (Staleness, error) {
	bad := func() (Staleness, error) {
		return Staleness{}, fmt.Errorf("%q is not a staleness: give epochs (0 to %d), auto:EPS or auto:EPS,MAX (auto:0.05,8)", text, MaxStaleness)
	}
	rest, auto := strings.CutPrefix(text, "auto:")
	if !auto {
		n, ok := parseEpochs(text)
		if !ok {
			return bad()
		}
		return Staleness{Bound: n}, nil
	}
	number, limit, has := strings.Cut(rest, ",")
	s := Staleness{Bound: MaxStaleness}
	if has {
		var ok bool
		if s.Bound, ok = parseEpochs(limit); !ok || s.Bound == 0 {
			return bad()
		}
	}
	var err error
	s.EPS, err = strconv.ParseFloat(number, 64)
	if err != nil || !(s.EPS > 0) || strings.Trim(number, "0123456789.") != "" {
		return bad()
	}
	return s, nil
}

// parseEpochs reads a whole number from 0 to MaxStaleness.
func parseEpochs(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && strings.Trim(text, "0123456789") == "" && n <= MaxStaleness
}

// String returns a text that ParseStaleness reads as the same staleness.
func (s Staleness) String() string {
	if !s.Auto() {
		return strconv.Itoa(s.Bound)
	}
	text := "auto:" + strconv.FormatFloat(s.EPS, 'f', -1, 64)
	if s.Bound != MaxStaleness {
		text += "," + strconv.Itoa(s.Bound)
	}
	return text
}
