package ranks_test

import (
	"fmt"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
)

// Isolated parts give the bits of one process however they are grouped into ranks, also with more chunks than devices; too few chunks are refused by all.
func TestIsolatedRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "7", "--eval-every", "3", "--isolated=chunks=5,correction=inclusion,targets=both"}
	want := s.Train(append(args, "--devices", progtest.CPUs(2), "--run-dir", "alone")...)
	for _, ranks := range []int{2, 4} {
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--devices", progtest.CPUs(1), "--json", "--quiet", "--run-dir", fmt.Sprint("ranks", ranks))}
		all := run.Over(ranks)
		if all[0].Code != 0 {
			t.Fatalf("%d ranks: exit code %d\n%s", ranks, all[0].Code, all[0].Err)
		}
		if got := progtest.ReadResultLine(t, all[0].Out); got.SHA256 != want.SHA256 || got.Parts != 5 {
			t.Errorf("%d ranks: %d parts, weights %s; one process %s", ranks, got.Parts, got.SHA256, want.SHA256)
		}
	}
	for rank, e := range (progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--dataset", "ok.npz", "--isolated=chunks=1000", "--devices", progtest.CPUs(1), "--quiet"}}).Over(2) {
		if e.Code != 2 {
			t.Errorf("rank %d of a run with more chunks than vertices: exit code %d\n%s", rank, e.Code, e.Err)
		}
	}
}
