//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What a killed writer left goes with the next write; what another one holds, is fresh or belongs to another file stays.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	old := time.Now().Add(-2 * fresh)
	for _, name := range []string{"a.tmp123", "a.tmp7", "a.tmp8", "b.tmp1", "a.tmp", "a.tmp12x", "xa.tmp1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "a.tmp7" {
			continue // fresh
		}
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "a.tmp9"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "a.tmp9"), old, old); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(filepath.Join(dir, "a.tmp8"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	hold(held)
	names := func() (all []string) {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			all = append(all, e.Name())
		}
		return all
	}
	write := func() {
		t.Helper()
		if err := Write(path, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if want := []string{"a", "a.tmp", "a.tmp12x", "a.tmp7", "a.tmp8", "a.tmp9", "b.tmp1", "xa.tmp1"}; !slices.Equal(names(), want) {
		t.Errorf("files %v, want %v", names(), want)
	}
	held.Close()
	write()
	if slices.Contains(names(), "a.tmp8") {
		t.Errorf("files %v: a.tmp8 stayed", names())
	}
	// A writer's own file is held while it writes, however long that takes.
	err = Write(path, func(w io.Writer) error {
		for _, name := range names() {
			if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
				return err
			}
		}
		write()
		_, err := io.WriteString(w, "slow")
		return err
	})
	if b, rerr := os.ReadFile(path); err != nil || rerr != nil || string(b) != "slow" {
		t.Errorf("%q, %v, %v", b, err, rerr)
	}
}
