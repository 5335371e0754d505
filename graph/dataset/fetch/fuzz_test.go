package fetch

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzUnpack unpacks any bytes as a downloaded archive: nothing appears outside of its folder, and nothing stays after an
// error.
func FuzzUnpack(f *testing.F) {
	f.Add(zipOf(f, [][2]string{{"raw/a", "one"}, {"raw/b/", ""}, {"c", strings.Repeat("x", 100)}}, nil))
	f.Add(zipOf(f, [][2]string{{"set/raw/a", "one"}}, func(h *zip.FileHeader) { h.Method = zip.Store }))
	f.Add(zipOf(f, [][2]string{{"../a", "one"}}, nil))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		above := filepath.Join(root, fmt.Sprint(os.Getpid()))
		if err := os.MkdirAll(above, 0o755); err != nil {
			t.Fatal(err)
		}
		path, dir := filepath.Join(above, "a.zip"), filepath.Join(above, "out")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		create := func(path string, flag int, mode os.FileMode) (sink, error) { // to the disk takes 10 ms
			file, err := os.OpenFile(path, flag, mode)
			return unsynced{file}, err
		}
		found, err := unpack(t.Context(), path, dir, unpacking{needs: []string{"raw/a"}, limit: 1 << 16}, create)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("more than one line: %q", err)
		}
		want := []string{"a.zip", "out"}
		if err != nil {
			want = want[:1]
		} else if info, serr := os.Stat(filepath.Join(found, "raw/a")); serr != nil || info == nil || !strings.HasPrefix(found, dir) {
			t.Fatalf("found %s, without raw/a: %v", found, serr)
		}
		list, rerr := os.ReadDir(above)
		var left []string
		for _, e := range list {
			left = append(left, e.Name())
		}
		if up, uerr := os.ReadDir(root); rerr != nil || uerr != nil || !slices.Equal(left, want) || len(up) != 1 {
			t.Fatalf("left %v and %d folders, want %v (%v, %v)", left, len(up), want, rerr, uerr)
		}
	})
}

// unsynced is a file whose Sync does nothing.
type unsynced struct{ *os.File }

// FuzzDownloadState: whatever lies in the state of a broken download, going on begins within what is there.
func FuzzDownloadState(f *testing.F) {
	f.Add([]byte(`{"url": "http://h/a", "etag": "\"1\"", "bytes": 9}`), int64(9))
	f.Add([]byte(`{"URL": "http://h/a", "Bytes": -5}`), int64(0))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, bytes int64) {
		x := &transfer{part: filepath.Join(dir, fmt.Sprint(os.Getpid()))}
		if err := os.MkdirAll(filepath.Dir(x.path(remoteFile{name: "a"})), 0o755); err != nil {
			t.Fatal(err)
		}
		file := remoteFile{name: "a", bytes: max(0, bytes)}
		for path, b := range map[string][]byte{x.statePath(file): text, x.path(file): []byte("1234567")} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		have, s := x.resumable(file, "http://h/a")
		if have < 0 || have > 7 || have > 0 && !json.Valid(text) || have > 0 && s.URL != "http://h/a" {
			t.Fatalf("%q: goes on from byte %d of 7 with %+v", text, have, s)
		}
	})
}

func (unsynced) Sync() error { return nil }
