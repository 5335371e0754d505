package term

import (
	"io"
	"os"

	"capgnn/internal/atomicfile"
)

// CheckOut refuses the name of a file, given by a flag, that nothing can be written to, before the work begins whose result it is
// to hold. "" is no name.
func CheckOut(flag, path string) error {
	if path == "" {
		return nil
	}
	if err := atomicfile.Check(path); err != nil {
		return Usagef("--%s: %w", flag, err)
	}
	return nil
}

// Exists reports whether there is something at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// WriteFile writes a small file, whole or not at all.
func WriteFile(path string, data []byte) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
