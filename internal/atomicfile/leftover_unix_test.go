//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

func names(t *testing.T, dir string) (all []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// What a killed writer left goes with the next write there, whatever it was to become; what another process holds, another host
// may hold, or was never of this package stays.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	dead := []string{"a" + mark() + "1", "b" + mark() + "22", "c" + mark() + "3"}
	stay := []string{"a.tmp", "a.tmp1", "a.tmp-1", mark() + "4", "a" + mark(), "a" + mark() + "x", "a" + mark() + "5.npz", "a.tmp-00000000-6"}
	foreignOld := "a.tmp-00000000-7"
	for _, name := range append(append([]string{foreignOld}, dead...), stay...) {
		if err := os.WriteFile(at(name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * foreign)
	if err := os.Chtimes(at(foreignOld), long, long); err != nil {
		t.Fatal(err)
	}
	folder := ".store" + mark() + "8"
	if err := os.MkdirAll(at(folder+"/below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("a.tmp"), at("link"+mark()+"9")); err != nil {
		t.Fatal(err)
	}
	stay = append(stay, "link"+mark()+"9")
	held, file, err := hold(func() (string, error) { return at("a" + mark() + "10"), os.WriteFile(at("a"+mark()+"10"), nil, 0o600) })
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(at("new"), text("new")); err != nil {
		t.Fatal(err)
	}
	want := append([]string{"new", filepath.Base(held)}, stay...)
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("files\n%q, want\n%q", got, want)
	}
	file.Close()
	Sweep(dir)
	if slices.Contains(names(t, dir), filepath.Base(held)) {
		t.Errorf("%s stayed after its holder ended", held)
	}
}

// Writers and sweepers do not get into each other's way: no write fails, nothing is mixed or left.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	var group sync.WaitGroup
	for k := range 8 {
		group.Go(func() {
			for i := range 30 {
				if err := Replace(path, text(fmt.Sprint(k))); err != nil {
					t.Error(err)
				}
				Sweep(dir)
				folder := filepath.Join(dir, fmt.Sprintf("f%d-%d", k, i))
				if err := Folder(folder, func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o644) }); err != nil {
					t.Error(err)
				}
				if err := os.RemoveAll(folder); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := names(t, dir); !slices.Equal(got, []string{"a"}) {
		t.Errorf("left are %q", got)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "set")
	fill := func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), []byte("x"), 0o600) }
	if err := Folder(path, func(dir string) error { fill(dir); return io.ErrShortWrite }); err == nil || len(names(t, filepath.Dir(path))) > 0 {
		t.Errorf("%v, left are %q", err, names(t, filepath.Dir(path)))
	}
	if err := Folder(path, fill); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 || !slices.Equal(names(t, path), []string{"x"}) {
		t.Errorf("%v, %v, %q", info, err, names(t, path))
	}
	if err := Folder(path, fill); err == nil || !slices.Equal(names(t, filepath.Dir(path)), []string{"set"}) {
		t.Errorf("a full folder: %v, left are %q", err, names(t, filepath.Dir(path)))
	}
}
