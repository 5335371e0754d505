package atomicfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is no file is not replaced, nor is a link to it.
func TestSpecial(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(syscall.Mkfifo(at("fifo"), 0o644), os.Mkdir(at("folder"), 0o755), os.Symlink("fifo", at("link")), os.Symlink("/dev/null", at("null"))); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := names(t, dir)
	for name, kind := range map[string]string{"fifo": "FIFO", "folder": "folder", "link": "FIFO", "null": "device", "socket": "socket"} {
		err := Write(at(name), text("x"))
		var special *Special
		if !errors.As(err, &special) || !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want a *Special that names a %s", name, err, kind)
		}
		if err := Check(at(name)); !errors.As(err, &special) {
			t.Errorf("check %s: %v", name, err)
		}
		if info, err := os.Stat(at(name)); err != nil || info.Mode().IsRegular() {
			t.Errorf("%s is a file now: %v", name, err)
		}
	}
	if got := names(t, dir); strings.Join(got, " ") != strings.Join(before, " ") {
		t.Errorf("left are %q", got)
	}
	if err := errors.Join(Check(at("new")), Check("/dev/stdout")); err != nil {
		t.Error(err)
	}
	if err := Check(at("none/new")); err == nil || !strings.Contains(err.Error(), "there is no folder") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// Standard output is written to by any name, also where it is a file, which keeps what it has.
func TestStreams(t *testing.T) {
	if name := os.Getenv("CAPGNN_TEST_STREAM"); name != "" {
		if err := Write(name, text(" more")); err != nil || !IsStream(name) {
			t.Fatalf("%v, is a stream: %t", err, IsStream(name))
		}
		os.Exit(0)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev/stdout", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/stdout", "/proc/self/fd/1", "/dev/fd/1", link, "/dev/stderr"} {
		file, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString("first"); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestStreams$")
		cmd.Env = append(os.Environ(), "CAPGNN_TEST_STREAM="+name)
		cmd.Stdout, cmd.Stderr = file, file
		err = cmd.Run()
		file.Close()
		if b, rerr := os.ReadFile(filepath.Join(dir, "out")); err != nil || rerr != nil || string(b) != "first more" {
			t.Errorf("%s: %v, %v, %q", name, err, rerr, b)
		}
		if info, err := os.Lstat("/dev/stdout"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Fatalf("/dev/stdout was replaced: %v", err)
		}
	}
}
