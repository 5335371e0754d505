package regular

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for link, to := range map[string]string{"link": "file", "fifolink": "fifo"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, kind := range map[string]string{
		at("file"): "", at("link"): "", at("fifo"): "FIFO", at("fifolink"): "FIFO", at("socket"): "socket", dir: "folder", "/dev/null": "device",
	} {
		f, err := Open(path)
		var special *NotRegular
		switch {
		case kind == "" && err != nil:
			t.Errorf("%s: %v", path, err)
		case kind == "":
			f.Close()
		case !errors.As(err, &special) || special.Path != path || !strings.Contains(special.Kind, kind) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: %v, want an error that names a %s", path, err, kind)
		}
	}
	if _, err := Open(at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if b, err := ReadFile(at("file"), 4); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ReadFile(at("file"), 3); err == nil {
		t.Error("4 bytes passed a limit of 3")
	}
	f, err := OpenFile(at("new"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// A file that is written to is no link, and has no other name.
func TestLinksAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("file"), []byte("text"), 0o644), os.Symlink(at("file"), at("link")), os.Symlink(at("new"), at("ahead"))); err != nil {
		t.Fatal(err)
	}
	refused := func(name, kind string) {
		t.Helper()
		for _, flag := range []int{os.O_WRONLY, os.O_RDWR | os.O_CREATE, os.O_RDWR | os.O_TRUNC} {
			f, err := OpenFile(at(name), flag, 0o644)
			var special *NotRegular
			if !errors.As(err, &special) || !strings.Contains(special.Kind, kind) {
				f.Close()
				t.Errorf("%s: %v, want an error that names %s", name, err, kind)
			}
		}
	}
	refused("link", "a link")
	refused("ahead", "a link")
	f, err := OpenFile(at("file"), os.O_RDWR, 0)
	if err != nil || !LeadsTo(at("file"), f) || LeadsTo(at("link"), f) || LeadsTo(at("none"), f) {
		t.Fatalf("%v, or the name of the file leads elsewhere", err)
	}
	defer f.Close()
	if err := os.Link(at("file"), at("second")); err != nil {
		t.Fatal(err)
	}
	refused("file", "hard links")
	if b, err := ReadFile(at("second"), 9); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Lstat(at("new")); err == nil {
		t.Error("a link made a file")
	}
}
