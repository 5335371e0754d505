package ranks_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
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
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	l := &longRun{s, []string{"--dataset", "ok.npz", "--hidden", "8", "--parts", "4", "--epochs", "400", "--eval-every", "0", "--checkpoint-every", "40", "--quiet"}, ""}
	l.want = s.Train(append(l.args, "--devices", progtest.CPUs(4), "--run-dir", "whole")...).SHA256
	return l
}

// over is the run as ranks of one device, begun in a folder, or resumed there.
func (l *longRun) over(resumed bool) progtest.RankRun {
	if resumed {
		return progtest.RankRun{Sandbox: l.Sandbox, Args: []string{"--quiet", "--resume", "run", "--devices", progtest.CPUs(1)}}
	}
	return progtest.RankRun{Sandbox: l.Sandbox, Args: append(l.args, "--run-dir", "run", "--devices", progtest.CPUs(1))}
}

// A rank that is killed ends all others with one line and exit code 4; one that is interrupted ends all behind one epoch with 130; other numbers
// of ranks and a single process continue, and the weights are those of the run that nobody disturbed.
func TestRanksEndAndResume(t *testing.T) {
	t.Parallel()
	l := newLongRun(t)
	all := l.over(false).Start(3)
	l.WaitForEpochs(all[0].Cmd, "run", 50)
	all[1].Cmd.Process.Kill()
	all[1].End()
	first := all[0].End()
	for rank, e := range []progtest.Ended{first, all[2].End()} {
		if e.Code != term.ExitLost || strings.Count(e.Err, "\n") != 1 || e.Err != first.Err || e.Out != "" {
			t.Errorf("rank %d of those left: exit code %d\n%s", rank, e.Code, e.Err)
		}
	}
	for _, want := range []string{"capgnn: rank 1 (host ", ") lost in epoch ", ": connection closed", "--resume run"} {
		if !strings.Contains(first.Err, want) {
			t.Errorf("%q does not say %q", first.Err, want)
		}
	}
	for rank, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} { // at rank 0, then at rank 1
		before := len(l.MetricsOf("run"))
		all = l.over(true).Start(2)
		l.WaitForEpochs(all[0].Cmd, "run", before+30)
		if err := all[rank].Cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("capgnn: interrupted: after epoch %%d of 400: continue with `capgnn train --resume run`\n")
		for k, p := range all {
			if e := p.End(); e.Code != term.ExitInterrupted || e.Err != fmt.Sprintf(line, len(l.MetricsOf("run"))) {
				t.Errorf("%v at rank %d: rank %d: exit code %d\n%s", sig, rank, k, e.Code, e.Err)
			}
		}
	}
	run := l.over(true)
	run.Args = append(run.Args, "--json")
	for rank, e := range run.Over(4) {
		if e.Code != 0 || rank > 0 && e.Out != "" {
			t.Fatalf("rank %d: exit code %d\n%s%s", rank, e.Code, e.Out, e.Err)
		}
		if rank == 0 && progtest.ReadResultLine(t, e.Out).SHA256 != l.want {
			t.Errorf("resumed as other ranks the run has weights %s, whole %s", progtest.ReadResultLine(t, e.Out).SHA256, l.want)
		}
	}
	for rank, e := range run.Over(2) { // it is finished
		if e.Code != 0 || (e.Out == "") != (rank > 0) {
			t.Errorf("a finished run: rank %d: exit code %d\n%s%s", rank, e.Code, e.Out, e.Err)
		}
	}
	if got := l.Train("--resume", "run"); got.SHA256 != l.want {
		t.Errorf("weights %s, want %s", got.SHA256, l.want)
	}
}

// One process continues a run of ranks, and ranks one of a single process.
func TestRanksAndOneProcessResumeEachOther(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	// Weights to start from make the difference between devices' lists seen: other ranks get them from rank 0.
	s.Train("--dataset", "ok.npz", "--hidden", "8", "--epochs", "1", "--run-dir", "start", "--seed", "5")
	args := func(dir string, epochs int) []string {
		return []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", fmt.Sprint(epochs), "--init", "start/last.safetensors", "--parts", "2", "--run-dir", dir, "--quiet", "--json"}
	}
	alone := s.Train(append(args("alone", 40), "--devices", progtest.CPUs(2))...)
	e := (progtest.RankRun{Sandbox: s.Sandbox, Args: append(args("two", 40), "--devices", progtest.CPUs(1))}).Over(2)[0]
	if e.Code != 0 {
		t.Fatalf("exit code %d\n%s", e.Code, e.Err)
	}
	if got := progtest.ReadResultLine(t, e.Out); got.SHA256 != alone.SHA256 {
		t.Errorf("weights %s, alone %s", got.SHA256, alone.SHA256)
	}
	for _, dir := range []string{"two", "alone"} { // as if it had been stopped before its last epochs
		if err := os.Remove(s.Path(dir + "/result.json")); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Train("--resume", "two"); got.SHA256 != alone.SHA256 {
		t.Errorf("one process ends the run of two ranks with weights %s, want %s", got.SHA256, alone.SHA256)
	}
	e = (progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--resume", "alone", "--devices", progtest.CPUs(1), "--quiet", "--json"}}).Over(2)[0]
	if e.Code != 0 || progtest.ReadResultLine(t, e.Out).SHA256 != alone.SHA256 {
		t.Errorf("two ranks end the run of one process with exit code %d\n%s%s", e.Code, e.Out, e.Err)
	}
}

// A checkpoint that rank 0 cannot write ends it with its own exit code, and the others because of it, all with one line.
func TestRankZeroCannotWriteACheckpoint(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	run := progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--dataset", "ok.npz", "--hidden", "256", "--epochs", "50", "--eval-every", "0", "--checkpoint-every", "2", "--run-dir", "run", "--devices", progtest.CPUs(1), "--quiet"},
		Limit: func(rank int, args []string) *exec.Cmd {
			if rank > 0 {
				return s.Command(args...)
			}
			return s.LimitedTo("f", 512, args...) // blocks of 512 bytes or of 1 KiB; the checkpoint has 2 MiB
		}}
	all := run.Over(2)
	for rank, code := range []int{term.ExitFailure, term.ExitLost} {
		if e := all[rank]; e.Code != code || e.Err != all[0].Err || !strings.HasPrefix(e.Err, "capgnn: rank 0 (host ") || !strings.Contains(e.Err, "ulimit -f") || strings.Count(e.Err, "\n") != 1 {
			t.Errorf("rank %d: exit code %d, want %d\n%s", rank, e.Code, code, e.Err)
		}
	}
}
