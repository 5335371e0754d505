package npy

import (
	"fmt"
	"strings"
)

// FormatError says what is wrong with a file and where. It is the error of every reader of this package.
type FormatError struct {
	File   string // path, as it was given
	Member string // member of an archive, such as "x.npy"; empty for a plain file
	Offset int64  // byte in the file, or in the uncompressed member; -1: not at one place
	Err    error  // what is wrong
}

// Error gives one line: file, member and byte where known, then the fault.
func (e *FormatError) Error() string {
	var s strings.Builder
	s.WriteString(e.File)
	if e.Member != "" {
		s.WriteString(": " + e.Member)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&s, ": byte %d", e.Offset)
	}
	return s.String() + ": " + e.Err.Error()
}

// Unwrap returns the fault without its place.
func (e *FormatError) Unwrap() error { return e.Err }
