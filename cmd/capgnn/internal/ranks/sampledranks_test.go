//go:build unix

package ranks_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

// sampledArgs are those of a small run on samples.
var sampledArgs = []string{"--dataset", "ok.npz", "--hidden", "16", "--batch-size", "4"}

// However parts are grouped into ranks, whatever --sampling says, the run folder of rank 0 holds what one process leaves: samples, rows and gradients are the same.
func TestSampledOverRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	for k, sampling := range []string{"default", "distdgl", "rapidgnn", "massivegnn", "hopgnn,merge=off"} {
		args := append(sampledArgs, "--epochs", "4", "--model", []string{"gcn", "sage", "gat"}[k%3], "--sampling", sampling)
		alone := fmt.Sprint("alone", k)
		want := s.Train(append(args, "--devices", progtest.CPUs(3), "--run-dir", alone)...)
		devices := [][]int{{2, 1}, {1, 1, 1}, {1, 2}}[k%3]
		dir := fmt.Sprint("run", k)
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--run-dir", dir, "--json", "--quiet"), Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(devices[rank])} }}
		for rank, e := range run.Over(len(devices)) {
			if e.Code != 0 || e.Err != "" || (e.Out == "") != (rank > 0) {
				t.Fatalf("%s %v: rank %d: exit code %d\n%s%s", sampling, devices, rank, e.Code, e.Out, e.Err)
			}
			if rank > 0 {
				continue
			}
			got := progtest.ReadResultLine(t, e.Out)
			if got.SHA256 != want.SHA256 || *got.Test != *want.Test || got.Parts != 3 || got.Sampling.Rows.Read != want.Sampling.Rows.Read || got.Sampling.Rows.Local != want.Sampling.Rows.Local || got.Sampling.Edges != want.Sampling.Edges || len(got.Pairs) == 0 {
				t.Errorf("%s %v: weights %s, test score %v, %+v, %d pairs; alone %s, %v, %+v", sampling, devices, got.SHA256, *got.Test, got.Sampling, len(got.Pairs), want.SHA256, *want.Test, want.Sampling)
			}
		}
		for _, name := range []string{"plan.bin", "last.safetensors", "model.safetensors", "config.yaml"} {
			one, err := os.ReadFile(s.Path(alone + "/" + name))
			if err != nil {
				t.Fatal(err)
			}
			if several, err := os.ReadFile(s.Path(dir + "/" + name)); err != nil || !bytes.Equal(one, several) {
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
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	args := append(sampledArgs, "--epochs", "60", "--eval-every", "20", "--checkpoint-every", "10steps", "--quiet")
	want := s.Train(append(args, "--devices", progtest.CPUs(3), "--run-dir", "alone")...)
	epochs := 0
	begun := func(more ...string) []*progtest.Rank {
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(more, "--devices", progtest.CPUs(1))}.Start(3)
		s.WaitForEpochs(run[0].Cmd, "run", epochs+3)
		return run
	}
	run := begun(append(args, "--run-dir", "run")...)
	if err := run[1].Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(fmt.Sprintf(lostLine, 1, "connection (?:closed|reset)"))
	for rank, p := range run {
		if e := p.End(); rank != 1 && (e.Code != term.ExitLost || !line.MatchString(e.Err)) {
			t.Errorf("rank %d ends with exit code %d: %s", rank, e.Code, e.Err)
		}
	}
	epochs = len(s.MetricsOf("run"))
	run = begun("--resume", "run", "--quiet")
	if err := run[2].Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	said := ""
	for rank, p := range run {
		e := p.End()
		if rank == 0 {
			said = e.Err
		}
		if e.Code != term.ExitInterrupted || !strings.HasPrefix(e.Err, "capgnn: interrupted: ") || e.Err != said {
			t.Errorf("rank %d ends with exit code %d: %s", rank, e.Code, e.Err)
		}
	}
	all := (progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--resume", "run", "--json", "--quiet"}, Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(1 + rank)} }}).Over(2)
	if all[0].Code != 0 {
		t.Fatalf("resumed on two ranks: exit code %d: %s", all[0].Code, all[0].Err)
	}
	if got := progtest.ReadResultLine(t, all[0].Out); got.SHA256 != want.SHA256 || *got.BestEpoch != *want.BestEpoch || got.Sampling.Steps != want.Sampling.Steps {
		t.Errorf("weights %s, best epoch %d; undisturbed %s, %d", got.SHA256, *got.BestEpoch, want.SHA256, *want.BestEpoch)
	}
}
