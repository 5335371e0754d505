package hostmem

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Systems that cannot reserve room in a file write it.
func TestWriteZeros(t *testing.T) {
	const n = 5<<20/2 + 4096
	f, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := writeZeros(f, n); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(f.Name())
	if err != nil || len(got) != n {
		t.Fatalf("%d bytes, %v, want %d", len(got), err, n)
	}
	for i, x := range got {
		if x != 0 {
			t.Fatalf("byte %d is %d", i, x)
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is always full: %v", err)
	}
	defer full.Close()
	if err := writeZeros(full, n); err == nil {
		t.Error("a full disk is no error")
	}
}

// A file that has no room is closed and taken away.
func TestMapFileCleansUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var f *os.File
	readOnly := func() (*os.File, func() error, error) {
		var err error
		f, err = os.Open(path)
		return f, func() error { return os.Remove(path) }, err
	}
	if _, _, err := mapFile(4096, readOnly); err == nil {
		t.Fatal("a read-only file was mapped for writing")
	}
	if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is open: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}
