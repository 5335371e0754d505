package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// halfWritten matches names that writers remove or replace when they are done.
var halfWritten = regexp.MustCompile(`\.tmp-|\.capgnn-|\.probe-`)

// A signal at any moment of any command, from where it handles them: the process ends with code 130, or had done its work before, and nothing
// half-written is left.
// Moments are most often soon, where commands do one thing after another; CAPGNN_LONG=1 draws later ones and twice as many.
func TestSignals(t *testing.T) {
	t.Parallel()
	moments, mean := 1, 150*time.Millisecond
	if long.Wanted() {
		moments, mean = 2, time.Second
	}
	s := newSandbox(t)
	s.must("data", "synth", "flickr-like", "--scale", "0.03", "--out", "graph", "--quiet")
	s.must("train", "--dataset", "graph", "--epochs", "2", "--run-dir", "done", "--quiet")
	r := rand.New(rand.NewPCG(15, long.Turn())) // other moments for every commit; a failure names its own
	commands := map[string][]string{
		"train":     {"train", "--dataset", "graph", "--epochs", "100000", "--parts", "16", "--staleness", "2", "--checkpoint-every", "3"},
		"slow":      {"train", "--dataset", "graph", "--epochs", "100000", "--parts", "600", "--hidden", "16"},
		"sampled":   {"train", "--dataset", "graph", "--epochs", "100000", "--batch-size", "64", "--parts", "3", "--checkpoint-every", "3steps"},
		"demo":      {"demo"},
		"partition": {"partition", "--dataset", "graph", "--parts", "700"},
		"plan":      {"plan", "--dataset", "graph", "--parts", "700"},
		"import":    {"data", "import", "graph", "--out", "copy"},
		"synth":     {"data", "synth", "flickr-like", "--scale", "0.3", "--out", "other"},
		"info":      {"data", "info", "graph"},
		"predict":   {"predict", "--run", "done", "--out", "labels.npy"},
		"profile":   {"profile", "--devices", "cpu:0,cpu:1", "--full"},
		"bench":     {"bench", "halo", "--quick", "--out", "figures"},
	}
	for _, name := range long.Some(t, slices.Sorted(maps.Keys(commands)), len(commands)/2) {
		for k := range moments {
			sig := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}[r.IntN(3)]
			after := time.Duration(r.ExpFloat64() * float64(mean))
			t.Run(fmt.Sprintf("%s/%d", name, k), func(t *testing.T) { s.signalled(t, sig, after, commands[name]) })
		}
	}
}

// signalled runs a command, sends it a signal, and looks at what is left.
func (s *sandbox) signalled(t *testing.T, sig os.Signal, after time.Duration, args []string) {
	for _, name := range []string{"copy", "other", "figures", "labels.npy", "cache"} {
		if err := os.RemoveAll(s.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := s.command(args...)
	var text strings.Builder
	cmd.Stderr = &text
	startIgnoring(t, cmd)
	waitUntilHandled(t, cmd)
	time.Sleep(after)
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	hung := time.AfterFunc(5*time.Minute, func() { cmd.Process.Kill() })
	defer hung.Stop()
	_ = cmd.Wait() // its exit code says what there is to say
	code := cmd.ProcessState.ExitCode()
	t.Logf("%v after %v: code %d", sig, after, code)
	if code != term.ExitInterrupted && code != term.ExitDone {
		t.Errorf("%v after %v: exit code %d\n%s", sig, after, code, text.String())
	}
	s.checkNothingHalf(t)
}

// startIgnoring starts a program with SIGINT ignored, as a shell starts what runs behind &.
func startIgnoring(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" INT; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
}

// waitUntilHandled returns when a program of startIgnoring handles signals, SIGINT last, or has ended.
func waitUntilHandled(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	for ; ; time.Sleep(time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		caught := caughtSignals.FindSubmatch(status)
		if caught == nil {
			t.Fatalf("no signals in %s", status)
		}
		mask, err := strconv.ParseUint(string(caught[2]), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if string(caught[1]) == "Z" || mask>>(syscall.SIGINT-1)&1 == 1 {
			return
		}
	}
}

// caughtSignals matches the state of a process and the mask of signals that it handles, in its status.
var caughtSignals = regexp.MustCompile(`(?s)\nState:\t(.).*\nSigCgt:\t([0-9a-f]+)\n`)

// checkNothingHalf looks for what a process has not finished.
func (s *sandbox) checkNothingHalf(t *testing.T) {
	err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && halfWritten.MatchString(d.Name()) {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	runs, err := os.ReadDir(s.path("runs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, r := range runs {
		if d := runfolder.Dir(filepath.Join(s.path("runs"), r.Name())); !d.HoldsRun() {
			t.Errorf("%s holds no run", d)
		}
	}
}
