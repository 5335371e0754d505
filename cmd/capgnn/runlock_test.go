//go:build linux || darwin

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// started is a program on its way.
type started struct {
	*exec.Cmd
	stderr bytes.Buffer
}

func (s *sandbox) start(args ...string) *started {
	s.t.Helper()
	p := &started{Cmd: s.command(args...)}
	p.Stderr = &p.stderr
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

// code waits for the end and returns the exit code, −1 after a signal.
func (p *started) code() int {
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// refused checks that a program ended because another one has the run folder, or has finished the run.
func (p *started) refused(t *testing.T, holder *started) {
	t.Helper()
	code, said := p.code(), p.stderr.String()
	if code != term.ExitUsage || !strings.Contains(said, fmt.Sprintf("in use by process %d on ", holder.Process.Pid)) && !strings.Contains(said, "already holds a run") ||
		strings.Count(said, "\n") != 1 || len(said) > 300 {
		t.Errorf("exit code %d, %q, want %d and process %d", code, said, term.ExitUsage, holder.Process.Pid)
	}
}

// wholeMetrics checks that metrics.jsonl has each epoch once, in order, and returns how many.
func wholeMetrics(t *testing.T, d runfolder.Dir) (epochs int) {
	t.Helper()
	f, err := os.Open(d.Metrics())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); epochs++ {
		var line struct{ Epoch int }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Epoch != epochs {
			t.Fatalf("%s: line %d: epoch %d, %v", d, epochs+1, line.Epoch, err)
		}
	}
	return epochs
}

// Of two processes that start with one run folder in the same instant, one trains; so it is ten times out of ten.
func TestRaceForRunDir(t *testing.T) {
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	for round := range 10 {
		name := fmt.Sprint("run", round)
		var both [2]*started
		for i := range both {
			both[i] = s.start("train", "--quiet", "--dataset", data, "--devices", "cpu:0", "--epochs", "4", "--run-dir", name)
		}
		winner := 0
		if both[0].code() != 0 {
			winner = 1
		}
		if both[winner].code() != 0 {
			t.Fatalf("round %d: none trains: %s%s", round, &both[0].stderr, &both[1].stderr)
		}
		both[1-winner].refused(t, both[winner])
		if d := runfolder.Dir(s.path(name)); wholeMetrics(t, d) != 4 || term.Exists(d.Lock()) {
			t.Errorf("round %d: not four epochs, or the lock stays", round)
		}
	}
}

// Runs without a folder of their own get one each, also in the same second.
func TestDefaultRunDirsAtOnce(t *testing.T) {
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	var all []*started
	for range 4 {
		all = append(all, s.start("train", "--quiet", "--dataset", data, "--devices", "cpu:0", "--epochs", "2"))
	}
	for _, p := range all {
		if p.code() != 0 {
			t.Error(&p.stderr)
		}
	}
	runs, err := filepath.Glob(s.path("runs/*"))
	if err != nil || len(runs) != len(all) {
		t.Fatalf("%v, %v, want %d", runs, err, len(all))
	}
	for _, d := range runs {
		if wholeMetrics(t, runfolder.Dir(d)) != 2 {
			t.Errorf("%s: not two epochs", d)
		}
	}
}

// A run that runs is not resumed, nor begun anew, but reported and read by predict. When it is killed it can be resumed at once, by
// one process.
func TestResumeOfARunThatRuns(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	d := runfolder.Dir(s.path("run"))
	grows := func() {
		t.Helper()
		var before int64
		for deadline, n := time.Now().Add(time.Minute), 0; n < 3; time.Sleep(5 * time.Millisecond) {
			if info, err := os.Stat(d.Metrics()); err == nil && info.Size() > before && term.Exists(d.Best()) {
				before, n = info.Size(), n+1
			}
			if time.Now().After(deadline) {
				t.Fatal("no epochs in a minute")
			}
		}
	}
	p := s.start("train", "--quiet", "--dataset", data, "--devices", "cpu:0", "--epochs", "1000000", "--eval-every", "1", "--checkpoint-every", "50", "--run-dir", "run")
	grows()
	s.fails(term.ExitUsage, []string{fmt.Sprintf("--resume run: in use by process %d on ", p.Process.Pid), "train --quiet --dataset", "since 20"}, "train", "--resume", "run")
	s.fails(term.ExitUsage, []string{"--run-dir run already holds a run"}, "train", "--dataset", data, "--run-dir", "run")
	s.must("report", "--quiet", "run")
	s.must("predict", "--quiet", "--run", "run", "--out", "p.csv")
	for range 2 {
		_ = p.Process.Kill()
		both := [2]*started{s.start("train", "--quiet", "--resume", "run"), s.start("train", "--quiet", "--resume", "run")}
		ended := make(chan int)
		for i, q := range both {
			go func() { _ = q.Wait(); ended <- i }() // ends when the process does, which the test kills
		}
		loser := <-ended
		p = both[1-loser]
		if said := both[loser].stderr.String(); !strings.Contains(said, fmt.Sprintf("in use by process %d on ", p.Process.Pid)) {
			t.Fatalf("%q does not name process %d", said, p.Process.Pid)
		}
		grows()
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		<-ended
		if code := p.ProcessState.ExitCode(); code != term.ExitInterrupted || wholeMetrics(t, d) == 0 || term.Exists(d.Lock()) {
			t.Errorf("exit code %d: %s", code, &p.stderr)
		}
	}
}
