package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/term"
)

// profile that is killed or stopped in its middle is gone on with by the next command that measures these devices: at most
// what was under way is measured again.
func TestProfileGoesOn(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	args := []string{"profile", "--quick", "--devices", "cpu:threads=1,mem=64MiB,cpu:threads=1,mem=64MiB,slow=100"}
	kept := func() int {
		files, err := filepath.Glob(filepath.Join(s.path("cache"), "capgnn", "measuring-*"))
		if err != nil || len(files) > 1 {
			t.Fatalf("kept measurements: %v, %v", files, err)
		}
		if len(files) == 0 {
			return 0
		}
		text, err := os.ReadFile(files[0])
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n"))
	}
	before := 0
	for signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}; len(signals) > 0; {
		cmd := s.command(args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }() // ends with the process
		for signalled := false; !signalled && len(ended) == 0; time.Sleep(time.Millisecond) {
			if signalled = kept() >= before+3; signalled {
				_ = cmd.Process.Signal(signals[0]) // it may have ended
			}
		}
		err := <-ended
		if before > 0 && !strings.Contains(stderr.String(), "going on with "+strconv.Itoa(before)+" measurements") {
			t.Errorf("%d measurements were kept, but: %s", before, stderr.String())
		}
		before = kept()
		if err == nil { // it was done before this test saw its measurements: once more
			continue
		}
		var exit *exec.ExitError
		if signals[0] == syscall.SIGTERM && (!errors.As(err, &exit) || exit.ExitCode() != term.ExitInterrupted || !strings.Contains(stderr.String(), "while measuring: the next start continues from there")) {
			t.Errorf("stopped: %v: %s", err, stderr.String())
		}
		signals = signals[1:]
	}
	_, stderr, _ := s.run(args...)
	if !strings.Contains(stderr, "going on with "+strconv.Itoa(before)+" measurements") {
		t.Errorf("%d measurements were kept, but: %s", before, stderr)
	}
	if kept() != 0 || !term.Exists(filepath.Join(s.path("cache"), "capgnn", "profile.json")) {
		t.Errorf("%d measurements stay beside the profile", kept())
	}
}
