package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// A signal at any moment of any command: the process ends with code 130, or had done its work before, and nothing half-written is left.
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
			after := 20*time.Millisecond + time.Duration(r.ExpFloat64()*float64(mean))
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
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	dead := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer dead.Stop()
	_ = cmd.Wait() // its exit code says what there is to say
	code := cmd.ProcessState.ExitCode()
	t.Logf("%v after %v: code %d", sig, after, code)
	early := code == -1 && after < 500*time.Millisecond // before main the system's own rule holds
	if code != term.ExitInterrupted && code != term.ExitDone && !early {
		t.Errorf("%v after %v: exit code %d\n%s", sig, after, code, text.String())
	}
	s.checkNothingHalf(t)
}

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
