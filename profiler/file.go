package profiler

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
)

// maxFile bounds a profile file: maxDevices² pairs of 200 bytes.
const maxFile = 16 << 20

// FormatError says that a file is not a profile, or is damaged.
type FormatError struct {
	File   string
	Offset int64 // byte at which the fault was noticed, 0 if it is one of content
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("profile %s: byte %d: %s; run `capgnn profile` again", e.File, e.Offset, e.Reason)
}

// Write writes p as JSON, whole or not at all. An unsound profile is not written.
func (p *Profile) Write(path string) error {
	if err := p.validate(); err != nil {
		return fmt.Errorf("write profile %s: %s", path, oneLine(err))
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("write profile %s: %w", path, err)
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}

// Read reads a profile file. A file that is not a sound profile gives a *FormatError.
func Read(path string) (*Profile, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", path, err)
	}
	return decode(b, path)
}

func decode(b []byte, name string) (*Profile, error) {
	if len(b) > maxFile {
		return nil, &FormatError{name, maxFile, fmt.Sprintf("longer than %d bytes", maxFile)}
	}
	var version struct {
		Version int `json:"version"`
	}
	p := new(Profile)
	err := json.Unmarshal(b, &version) // another version may have other types
	if err == nil && version.Version == Version {
		err = json.Unmarshal(b, p)
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return nil, &FormatError{name, syntax.Offset, "not JSON: " + syntax.Error()}
	case errors.As(err, &kind):
		return nil, &FormatError{name, kind.Offset, fmt.Sprintf("%s is a %s", kind.Field, kind.Value)}
	case err != nil:
		return nil, &FormatError{name, 0, oneLine(err)}
	}
	p.Version = version.Version
	if err := p.validate(); err != nil {
		return nil, &FormatError{name, 0, oneLine(err)}
	}
	return p, nil
}

// oneLine joins the lines of an error that lists several problems.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
