package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T)   { testWrite(t, Write) }
func TestReplace(t *testing.T) { testWrite(t, Replace) }

func testWrite(t *testing.T, Write func(string, func(io.Writer) error) error) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error { io.WriteString(w, "half"); return broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want %v with the path", err, broken)
	}
	check := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		left, _ := os.ReadDir(dir)
		if err != nil || string(got) != want || len(left) != 1 {
			t.Errorf("file %q, %v, %d files; want %q alone", got, err, len(left), want)
		}
	}
	check("old")
	if err := Write(path, text("new")); err != nil {
		t.Fatal(err)
	}
	check("new")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v, want 0644", info.Mode(), err)
	}
	if err := Write(filepath.Join(dir, "no", "a"), text("x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v for a folder that is not there", err)
	}
}
