//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/term"
)

// However parts are grouped into ranks, whatever --sampling says, the run folder of rank 0 holds what one process leaves: samples, rows and gradients are the same.
func TestSampledOverRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for k, sampling := range []string{"default", "distdgl", "rapidgnn", "massivegnn", "hopgnn,merge=off"} {
		args := sampledArgs("--epochs", "4", "--model", []string{"gcn", "sage", "gat"}[k%3], "--sampling", sampling)
		alone := fmt.Sprint("alone", k)
		want := s.train(append(args, "--devices", cpus(3), "--run-dir", alone)...)
		devices := [][]int{{2, 1}, {1, 1, 1}, {1, 2}}[k%3]
		dir := fmt.Sprint("run", k)
		run := rankRun{sandbox: s, args: append(args, "--run-dir", dir, "--json", "--quiet"), own: func(rank int) []string { return []string{"--devices", cpus(devices[rank])} }}
		for rank, e := range run.over(len(devices)) {
			if e.code != 0 || e.err != "" || (e.out == "") != (rank > 0) {
				t.Fatalf("%s %v: rank %d: exit code %d\n%s%s", sampling, devices, rank, e.code, e.out, e.err)
			}
			if rank > 0 {
				continue
			}
			got := readResultLine(t, e.out)
			if got.SHA256 != want.SHA256 || *got.Test != *want.Test || got.Parts != 3 || got.Sampling.Rows.Read != want.Sampling.Rows.Read || got.Sampling.Rows.Local != want.Sampling.Rows.Local || got.Sampling.Edges != want.Sampling.Edges || len(got.Pairs) == 0 {
				t.Errorf("%s %v: weights %s, test score %v, %+v, %d pairs; alone %s, %v, %+v", sampling, devices, got.SHA256, *got.Test, got.Sampling, len(got.Pairs), want.SHA256, *want.Test, want.Sampling)
			}
		}
		for _, name := range []string{"plan.bin", "last.safetensors", "model.safetensors", "config.yaml"} {
			one, err := os.ReadFile(s.path(alone + "/" + name))
			if err != nil {
				t.Fatal(err)
			}
			if several, err := os.ReadFile(s.path(dir + "/" + name)); err != nil || !bytes.Equal(one, several) {
				t.Errorf("%s %v: %s differs (%v)\n%s\n%s", sampling, devices, name, err, several, one)
			}
		}
	}
}

// A rank that is killed ends the others with exit code 4 and a line that names it, and one that is interrupted ends all behind a step. Whatever ranks continue, the weights are those of a run that
// nobody disturbed.
func TestSampledRanksAreEndedAndResumed(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := sampledArgs("--epochs", "120", "--eval-every", "20", "--checkpoint-every", "10steps", "--quiet")
	want := s.train(append(args, "--devices", cpus(3), "--run-dir", "alone")...)
	epochs := func() int {
		b, _ := os.ReadFile(s.path("run/metrics.jsonl")) // there is none at first
		return bytes.Count(b, []byte("\n"))
	}
	begun := func(more ...string) []*member {
		before := epochs()
		run := (rankRun{sandbox: s, args: more}).begin([]int{1, 1, 1})
		for start := time.Now(); epochs() < before+3; time.Sleep(time.Millisecond) {
			if time.Since(start) > time.Minute {
				t.Fatalf("no epoch after a minute\n%s", &run[0].err)
			}
		}
		return run
	}
	run := begun(append(args, "--run-dir", "run")...)
	if err := run[1].Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(fmt.Sprintf(lostLine, 1, "connection (?:closed|reset)"))
	for rank, m := range run {
		<-m.ended
		if code := m.ProcessState.ExitCode(); rank != 1 && (code != term.ExitLost || !line.MatchString(m.err.String())) {
			t.Errorf("rank %d ends with exit code %d: %s", rank, code, m.err.String())
		}
	}
	run = begun("--resume", "run", "--quiet")
	if err := run[2].Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	said := ""
	for rank, m := range run {
		<-m.ended
		if rank == 0 {
			said = m.err.String()
		}
		if code := m.ProcessState.ExitCode(); code != term.ExitInterrupted || !strings.HasPrefix(m.err.String(), "capgnn: interrupted: ") || m.err.String() != said {
			t.Errorf("rank %d ends with exit code %d: %s", rank, code, m.err.String())
		}
	}
	all := (rankRun{sandbox: s, args: []string{"--resume", "run", "--json", "--quiet"}, own: func(rank int) []string { return []string{"--devices", cpus(1 + rank)} }}).over(2)
	if all[0].code != 0 {
		t.Fatalf("resumed on two ranks: exit code %d: %s", all[0].code, all[0].err)
	}
	if got := readResultLine(t, all[0].out); got.SHA256 != want.SHA256 || *got.BestEpoch != *want.BestEpoch || got.Sampling.Steps != want.Sampling.Steps {
		t.Errorf("weights %s, best epoch %d; undisturbed %s, %d", got.SHA256, *got.BestEpoch, want.SHA256, *want.BestEpoch)
	}
}
