package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// longRun is a run of four parts that somebody can end before it ends, and the same run undisturbed.
type longRun struct {
	*sandbox
	args []string
	want string // weights
}

func newLongRun(t *testing.T) *longRun {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	l := &longRun{s, []string{"--dataset", "ok.npz", "--hidden", "8", "--parts", "4", "--epochs", "400", "--eval-every", "0", "--checkpoint-every", "40", "--quiet"}, ""}
	l.want = s.train(append(l.args, "--devices", cpus(4), "--run-dir", "whole")...).SHA256
	return l
}

// over is the run as ranks of one device, begun in a folder, or resumed there.
func (l *longRun) over(resumed bool) rankRun {
	if resumed {
		return rankRun{sandbox: l.sandbox, args: []string{"--quiet", "--resume", "run", "--devices", cpus(1)}}
	}
	return rankRun{sandbox: l.sandbox, args: append(l.args, "--run-dir", "run", "--devices", cpus(1))}
}

// A rank that is killed ends all others with one line and exit code 4; one that is interrupted ends all behind one epoch with 130; other numbers
// of ranks and a single process continue, and the weights are those of the run that nobody disturbed.
func TestRanksEndAndResume(t *testing.T) {
	t.Parallel()
	l := newLongRun(t)
	all := l.over(false).start(3)
	waitForEpochs(t, all[0].cmd, l.path("run"), 50)
	all[1].cmd.Process.Kill()
	all[1].end()
	first := all[0].end()
	for rank, e := range []ended{first, all[2].end()} {
		if e.code != term.ExitLost || strings.Count(e.err, "\n") != 1 || e.err != first.err || e.out != "" {
			t.Errorf("rank %d of those left: exit code %d\n%s", rank, e.code, e.err)
		}
	}
	for _, want := range []string{"capgnn: rank 1 (host ", ") lost in epoch ", ": connection closed", "--resume run"} {
		if !strings.Contains(first.err, want) {
			t.Errorf("%q does not say %q", first.err, want)
		}
	}
	for rank, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} { // at rank 0, then at rank 1
		before := len(metricsOf(t, l.path("run")))
		all = l.over(true).start(2)
		waitForEpochs(t, all[0].cmd, l.path("run"), before+30)
		if err := all[rank].cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("capgnn: interrupted: after epoch %%d of 400: continue with `capgnn train --resume run`\n")
		for k, p := range all {
			if e := p.end(); e.code != term.ExitInterrupted || e.err != fmt.Sprintf(line, len(metricsOf(t, l.path("run")))) {
				t.Errorf("%v at rank %d: rank %d: exit code %d\n%s", sig, rank, k, e.code, e.err)
			}
		}
	}
	run := l.over(true)
	run.args = append(run.args, "--json")
	for rank, e := range run.over(4) {
		if e.code != 0 || rank > 0 && e.out != "" {
			t.Fatalf("rank %d: exit code %d\n%s%s", rank, e.code, e.out, e.err)
		}
		if rank == 0 && readResultLine(t, e.out).SHA256 != l.want {
			t.Errorf("resumed as other ranks the run has weights %s, whole %s", readResultLine(t, e.out).SHA256, l.want)
		}
	}
	for rank, e := range run.over(2) { // it is finished
		if e.code != 0 || (e.out == "") != (rank > 0) {
			t.Errorf("a finished run: rank %d: exit code %d\n%s%s", rank, e.code, e.out, e.err)
		}
	}
	if got := l.train("--resume", "run"); got.SHA256 != l.want {
		t.Errorf("weights %s, want %s", got.SHA256, l.want)
	}
}

// One process continues a run of ranks, and ranks one of a single process.
func TestRanksAndOneProcessResumeEachOther(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	// Weights to start from make the difference between devices' lists seen: other ranks get them from rank 0.
	s.train("--dataset", "ok.npz", "--hidden", "8", "--epochs", "1", "--run-dir", "start", "--seed", "5")
	args := func(dir string, epochs int) []string {
		return []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", fmt.Sprint(epochs), "--init", "start/last.safetensors", "--parts", "2", "--run-dir", dir, "--quiet", "--json"}
	}
	alone := s.train(append(args("alone", 40), "--devices", cpus(2))...)
	e := (rankRun{sandbox: s, args: append(args("two", 40), "--devices", cpus(1))}).over(2)[0]
	if e.code != 0 {
		t.Fatalf("exit code %d\n%s", e.code, e.err)
	}
	if got := readResultLine(t, e.out); got.SHA256 != alone.SHA256 {
		t.Errorf("weights %s, alone %s", got.SHA256, alone.SHA256)
	}
	for _, dir := range []string{"two", "alone"} { // as if it had been stopped before its last epochs
		if err := os.Remove(s.path(dir + "/result.json")); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.train("--resume", "two"); got.SHA256 != alone.SHA256 {
		t.Errorf("one process ends the run of two ranks with weights %s, want %s", got.SHA256, alone.SHA256)
	}
	e = (rankRun{sandbox: s, args: []string{"--resume", "alone", "--devices", cpus(1), "--quiet", "--json"}}).over(2)[0]
	if e.code != 0 || readResultLine(t, e.out).SHA256 != alone.SHA256 {
		t.Errorf("two ranks end the run of one process with exit code %d\n%s%s", e.code, e.out, e.err)
	}
}

// A checkpoint that rank 0 cannot write ends it with its own exit code, and the others because of it, all with one line.
func TestRankZeroCannotWriteACheckpoint(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	run := rankRun{sandbox: s, args: []string{"--dataset", "ok.npz", "--hidden", "256", "--epochs", "50", "--eval-every", "0", "--checkpoint-every", "2", "--run-dir", "run", "--devices", cpus(1), "--quiet"},
		limit: func(rank int, args []string) *exec.Cmd {
			if rank > 0 {
				return s.command(args...)
			}
			return s.limitedTo("f", 512, args...) // blocks of 512 bytes or of 1 KiB; the checkpoint has 2 MiB
		}}
	all := run.over(2)
	for rank, code := range []int{term.ExitFailure, term.ExitLost} {
		if e := all[rank]; e.code != code || e.err != all[0].err || !strings.HasPrefix(e.err, "capgnn: rank 0 (host ") || !strings.Contains(e.err, "ulimit -f") || strings.Count(e.err, "\n") != 1 {
			t.Errorf("rank %d: exit code %d, want %d\n%s", rank, e.code, code, e.err)
		}
	}
}
