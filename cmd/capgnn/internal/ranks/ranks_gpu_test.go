//go:build cuda

package ranks_test

import (
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

// Ranks of one machine share its GPUs and train as one process does on all of them; more ranks than GPUs are refused.
func TestRanksShareGPUs(t *testing.T) {
	progtest.FakeGPUs(t, "n=3;mem=64;p2p=011/101/110")
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "3", "--quiet", "--json"}
	for _, more := range [][]string{nil, {"--batch-size", "8", "--sampling", "hopgnn,merge=off,fetch=planned"}} {
		args := append(args, more...)
		want := s.Train(args...)
		for rank, e := range (progtest.RankRun{Sandbox: s.Sandbox, Args: args}).Over(2) {
			if e.Code != 0 || e.Err != "" {
				t.Fatalf("%v: rank %d: exit code %d\n%s", more, rank, e.Code, e.Err)
			}
			if rank > 0 {
				continue
			}
			if got := progtest.ReadResultLine(t, e.Out); got.SHA256 != want.SHA256 || !slices.Equal(got.Devices, []string{"cuda:0", "cuda:1", "cuda:2"}) || !slices.Equal(got.Devices, want.Devices) {
				t.Errorf("%v: weights %s on %v, of one process %s on %v", more, got.SHA256, got.Devices, want.SHA256, want.Devices)
			}
		}
	}
	line := "4 ranks on this machine have 3 devices: start 3 here, or give each its own with --devices"
	for rank, e := range (progtest.RankRun{Sandbox: s.Sandbox, Args: args}).Over(4) {
		if e.Code != term.ExitUsage || e.Out != "" || !strings.Contains(e.Err, line) {
			t.Errorf("rank %d: exit code %d\n%s", rank, e.Code, e.Err)
		}
	}
}

// A GPU that is lost at one rank ends all with one line and the code for that.
func TestRankLosesItsGPU(t *testing.T) {
	progtest.FakeGPUs(t, "n=2;mem=64;lost=1:400")
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	all := (progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--dataset", "ok.npz", "--epochs", "50", "--hidden", "16", "--quiet"}}).Over(2)
	for rank, e := range all {
		if e.Code != term.ExitLost || e.Err != all[0].Err || strings.Count(e.Err, "\n") != 1 || !strings.HasPrefix(e.Err, "capgnn: rank 1 (host ") || !strings.Contains(e.Err, "fell off the bus") {
			t.Errorf("rank %d: exit code %d\n%s", rank, e.Code, e.Err)
		}
	}
}
