package formats

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/npy"
)

func TestPathsThatAreNoDataset(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notes.md")
	text := filepath.Join(dir, "text.npz")
	if err := errors.Join(os.WriteFile(file, []byte("hello"), 0o600), os.WriteFile(text, []byte("hello"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "absent"): "no such file", file: "no data set that can be read", text: "not a complete .npz", t.TempDir(): "no data set was found",
	} {
		if _, err := Load(path, dataset.Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// FuzzArchive loads any bytes as an .npz data set: an error, or a valid data set.
func FuzzArchive(f *testing.F) {
	for _, d := range datatest.Tiny(f) {
		dir := filepath.Join(f.TempDir(), d.Name)
		if err := stores.Write(dir, d, nil); err != nil {
			f.Fatal(err)
		}
		f.Add(packed(f, dir))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		z, err := npy.ReadArchive(bytes.NewReader(b), int64(len(b)), "d.npz")
		if err != nil {
			return
		}
		d, err := loadArchive(z, dataset.Options{})
		if err == nil {
			err = d.Validate()
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("more than one line: %q", err)
		}
	})
}

// packed returns the arrays of a store as an .npz.
func packed(t testing.TB, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range datatest.Names(t, dir) {
		if filepath.Ext(name) != ".npy" {
			continue
		}
		data, err1 := os.ReadFile(filepath.Join(dir, name))
		w, err2 := z.CreateHeader(&zip.FileHeader{Name: name})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
