package jaca

import (
	"fmt"
	"strconv"
	"strings"
)

// Staleness is how old rows may be that are used: at most Bound epochs.
type Staleness struct {
	Bound int // epochs, 0 to MaxStaleness
	// Adaptive says that a Ladder chooses the age. Bound is MaxStaleness then.
	Adaptive bool
}

// adaptive is the text of a staleness that a Ladder chooses.
const adaptive = "auto"

// Auto reports whether a Ladder chooses the age of rows.
func (s Staleness) Auto() bool { return s.Adaptive }

// ParseStaleness reads a number of epochs such as 4, or auto.
func ParseStaleness(text string) (Staleness, error) {
	if text == adaptive {
		return Staleness{Bound: MaxStaleness, Adaptive: true}, nil
	}
	if strings.HasPrefix(text, adaptive+":") {
		return Staleness{}, fmt.Errorf("%q is not offered any more: --comm auto chooses the age of rows by the harm that they do", text)
	}
	n, err := strconv.Atoi(text)
	if err != nil || strings.Trim(text, "0123456789") != "" || n > MaxStaleness {
		return Staleness{}, fmt.Errorf("%q is not a staleness: give epochs (0 to %d), or auto", text, MaxStaleness)
	}
	return Staleness{Bound: n}, nil
}

// String returns a text that ParseStaleness reads as the same staleness.
func (s Staleness) String() string {
	if s.Adaptive {
		return adaptive
	}
	return strconv.Itoa(s.Bound)
}
