package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

// readerGone returns the writing end of a pipe that nobody reads.
func readerGone(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// Notes that nobody reads do not end a training. Results that cannot be printed are a failure, which is said, unless their reader has gone.
func TestClosedStreams(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := []string{"train", "--dataset", "ok.npz", "--hidden", "4", "--epochs", "20", "--devices", "cpu:0,threads=1"}
	finished := func(run string, err error, code int, cmd *exec.Cmd) {
		t.Helper()
		if got := cmd.ProcessState.ExitCode(); got != code || !term.Exists(s.path(run+"/result.json")) {
			t.Errorf("%s: %v, exit code %d, want %d; a result is there: %t", run, err, got, code, term.Exists(s.path(run+"/result.json")))
		}
	}
	gone := s.command(append(args, "--run-dir", "gone")...)
	gone.Stderr = readerGone(t)
	finished("gone", gone.Run(), 0, gone)
	closed := exec.Command("sh", append([]string{"-c", `exec "$0" "$@" 2>&-`, progtest.Program}, append(args, "--run-dir", "closed")...)...)
	closed.Dir, closed.Env = gone.Dir, gone.Env
	finished("closed", closed.Run(), 0, closed)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"data", "list", "--quiet"}, {"train", "--help"}, {"help"}} {
		for out, want := range map[*os.File]struct {
			code int
			says string
		}{readerGone(t): {term.ExitUnread, ""}, full: {term.ExitFailure, "capgnn: write to standard output: no space left on device: the output is incomplete\n"}} {
			var errs bytes.Buffer
			cmd := s.command(args...)
			cmd.Stdout, cmd.Stderr = out, &errs
			err := cmd.Run()
			if cmd.ProcessState.ExitCode() != want.code || errs.String() != want.says {
				t.Errorf("%v into %s: %v, %q", args, out.Name(), err, errs.String())
			}
		}
	}
	var errs bytes.Buffer
	launched := s.command(append([]string{"launch", "-n", "2", "--"}, append(args, "--run-dir", "launched")...)...)
	launched.Stdout, launched.Stderr = full, &errs
	finished("launched", launched.Run(), term.ExitFailure, launched)
	if !strings.HasSuffix(errs.String(), "\ncapgnn: write to standard output: no space left on device: the output is incomplete\n") {
		t.Errorf("launched: %q", errs.String())
	}
	lost := s.command(append(args, "--quiet", "--run-dir", "lost")...)
	lost.Stdout = readerGone(t)
	finished("lost", lost.Run(), term.ExitUnread, lost)
}

// A control character in a name moves no cursor, and a long name leaves room for what to do.
func TestHostileNames(t *testing.T) {
	s := newSandbox(t)
	for _, name := range []string{"a\x1b[2Jb\nc\u202e\x7f.npz", strings.Repeat("long/", 900) + ".npz", "\xff\xfe.npz"} {
		for _, args := range [][]string{{"train", "--dataset", name}, {"data", "info", name}, {"train", "--config", name}, {"predict", "--run", name}, {"report", name},
			{"train", "--dataset", "x", "--devices", name}, {name}, {"train", "--" + name}, {"data", "fetch", name}, {"train", "--resume", name}} {
			_, stderr, code := s.run(args...)
			line := strings.TrimSuffix(stderr, "\n")
			if code != term.ExitUsage || !strings.HasPrefix(line, "capgnn: ") || line != term.Escaped(line) || len([]rune(line)) > term.MaxErrorLine {
				t.Errorf("capgnn %.60q: exit code %d, %d characters: %q", args, code, len([]rune(line)), stderr)
			}
		}
	}
}

// A program that nohup has started goes on when its terminal is closed.
func TestIgnoredHangUp(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := []string{"train", "--dataset", "ok.npz", "--hidden", "4", "--epochs", "200", "--run-dir", "run", "--quiet"}
	cmd := exec.Command("sh", append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, progtest.Program}, args...)...)
	cmd.Dir, cmd.Env = s.Dir, s.command().Env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForEpochs(t, cmd, s.path("run"), 1)
	cmd.Process.Signal(syscall.SIGHUP)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
