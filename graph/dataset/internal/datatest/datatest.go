package datatest

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/internal/npy"
	"capgnn/internal/regular"
)

// Tiny returns a data set of five vertices in each of its shapes: dense and one class per vertex, sparse and multi-label,
// topology only, and with edge weights.
func Tiny(t testing.TB) []*dataset.Dataset {
	g, err := graph.FromEdges(5, []graph.Edge{{From: 0, To: 1}, {From: 1, To: 0}, {From: 2, To: 0}, {From: 3, To: 3}, {From: 4, To: 0}})
	if err != nil {
		t.Fatal(err)
	}
	weighted := *g
	weighted.Weights = []float32{1, 0.25, -3, 0, 7}
	return []*dataset.Dataset{
		{
			Name: "dense", Graph: g, Features: dataset.Features{Cols: 2, Dense: []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
			Labels: []int32{0, 2, -1, 1, 0}, Classes: 4,
			Train: []bool{true, true, false, false, false}, Val: []bool{false, false, false, true, false}, Test: []bool{false, false, false, false, true},
			IDs: []int64{10, 11, 12, 1 << 40, 14},
		},
		{
			Name: "sparse", Graph: g, Features: dataset.Features{Cols: 9, Indptr: []int64{0, 2, 2, 3, 3, 4}, Indices: []int32{0, 7, 3, 3}, Data: []float32{1, 2, 3, 4}},
			Targets: []uint8{0, 1, 1, 1, 0, 0, 1, 0, 0, 1}, Classes: 2, Train: []bool{true, true, false, false, false},
		},
		{Name: "topology", Graph: g},
		{Name: "weighted", Graph: &weighted},
	}
}

// Equal compares everything but where it came from.
func Equal(a, b *dataset.Dataset) bool {
	return a.Graph.Equal(b.Graph) && reflect.DeepEqual(a.Features, b.Features) && reflect.DeepEqual(a.Labels, b.Labels) &&
		reflect.DeepEqual(a.Targets, b.Targets) && a.Classes == b.Classes && reflect.DeepEqual(a.Train, b.Train) &&
		reflect.DeepEqual(a.Val, b.Val) && reflect.DeepEqual(a.Test, b.Test) && reflect.DeepEqual(a.IDs, b.IDs)
}

// Names lists the files of a folder.
func Names(t testing.TB, dir string) (names []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// NPZ writes entries to a new archive and returns its path.
func NPZ(t testing.TB, entries ...npy.Entry) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.npz")
	if err := npy.WriteArchiveFile(path, entries, npy.Archiving{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// Pickled is NPZ with arrays of objects under these keys beside it, each of so many elements, as numpy.savez pickles them.
func Pickled(t testing.TB, entries []npy.Entry, elements map[string]int) string {
	t.Helper()
	var b bytes.Buffer
	if err := npy.WriteArchive(&b, entries, npy.Archiving{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "d.npz")
	old, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range old.File {
		if err := z.Copy(f); err != nil {
			t.Fatal(err)
		}
	}
	for key, n := range elements {
		w, err := z.Create(key + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("{'descr': '|O', 'fortran_order': False, 'shape': (%d,), }\n", n)
		fmt.Fprintf(w, "\x93NUMPY\x01\x00%c\x00%s\x80\x04.", len(head), head)
	}
	if err := errors.Join(z.Close(), os.WriteFile(path, out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// With returns entries with one replaced or added.
func With(entries []npy.Entry, e npy.Entry) []npy.Entry {
	out := slices.DeleteFunc(slices.Clone(entries), func(o npy.Entry) bool { return o.Key == e.Key })
	return append(out, e)
}

// Put writes files with paths into a new folder.
func Put(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if b == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Gzip returns text as a gzip file.
func Gzip(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// PutText writes files into a new folder.
func PutText(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Damaged writes b, which is path of the data set dir with damage, and loads dir: an error of one line that names it, or, unless mustFail,
// a valid data set.
func Damaged(t *testing.T, load func(path string) (*dataset.Dataset, error), dir, path string, b []byte, mustFail bool) {
	t.Helper()
	if err := overwrite(path, b); err != nil {
		t.Fatal(err)
	}
	d, err := load(dir)
	if err == nil {
		err = d.Validate()
		d.Close()
		if err == nil && mustFail {
			t.Errorf("%s cut to %d bytes was read", path, len(b))
		}
		if err != nil {
			t.Errorf("%s: an invalid data set was returned: %v", path, err)
		}
		return
	}
	if !strings.HasPrefix(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: got %v, want one line that begins with the file", path, err)
	}
}

// overwrite makes b the content of the file path. It never makes the file empty before it writes, because ext4 then flushes it when it is closed, which
// took most of the time of thousands of damaged files.
func overwrite(path string, b []byte) error {
	f, err := regular.OpenFile(path, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(b)))
}
