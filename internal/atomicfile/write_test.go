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

// A folder takes the place of an empty one, and of nothing else.
func TestFolderReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	fill := func() error {
		return Folder(path, func(tmp string) error { return os.WriteFile(filepath.Join(tmp, "b"), nil, 0o600) })
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fill(); err != nil {
		t.Fatal(err)
	}
	const want = "another process has filled the folder meanwhile: choose another name"
	err := fill()
	left, _ := os.ReadDir(dir)
	if _, lost := os.Stat(filepath.Join(path, "b")); err == nil || !strings.Contains(err.Error(), want) || lost != nil || len(left) != 1 {
		t.Errorf("%v (%v), %d files", err, lost, len(left))
	}
	if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := fill(); err == nil {
		t.Error("a file was replaced")
	}
}
