package textfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, 9)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Extent counts what a second reading finds.
func TestExtent(t *testing.T) {
	for _, c := range []struct {
		text         string
		lines, chars int64
	}{{"", 1, 0}, {"1,2\n3,4", 2, 6}, {"1\n\n2\n", 4, 2}, {strings.Repeat("12 3\n", 100000), 100001, 400000}} {
		for _, b := range [][]byte{[]byte(c.text), zipped(t, c.text)} {
			path := filepath.Join(t.TempDir(), "a.csv")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			err := Open(path, nil, func(x *Reader) error {
				lines, chars, err := x.Extent()
				if err != nil || lines != c.lines || chars != c.chars || x.at() != 0 || x.line != 1 {
					return fmt.Errorf("%.20q: %d lines, %d characters, at %d, %v", c.text, lines, chars, x.at(), err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}
