//go:build cuda

package main

import (
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// Ranks of one machine share its GPUs and train as one process does on all of them; more ranks than GPUs are refused.
func TestRanksShareGPUs(t *testing.T) {
	s := fakeGPUs(t, "n=3;mem=64;p2p=011/101/110")
	newStore().write(s, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "3", "--quiet", "--json"}
	for _, more := range [][]string{nil, {"--batch-size", "8", "--sampling", "hopgnn,merge=off,fetch=planned"}} {
		args := append(args, more...)
		want := s.train(args...)
		for rank, e := range (rankRun{sandbox: s, args: args}).over(2) {
			if e.code != 0 || e.err != "" {
				t.Fatalf("%v: rank %d: exit code %d\n%s", more, rank, e.code, e.err)
			}
			if rank > 0 {
				continue
			}
			if got := readResultLine(t, e.out); got.SHA256 != want.SHA256 || !slices.Equal(got.Devices, []string{"cuda:0", "cuda:1", "cuda:2"}) || !slices.Equal(got.Devices, want.Devices) {
				t.Errorf("%v: weights %s on %v, of one process %s on %v", more, got.SHA256, got.Devices, want.SHA256, want.Devices)
			}
		}
	}
	line := "4 ranks on this machine have 3 devices: start 3 here, or give each its own with --devices"
	for rank, e := range (rankRun{sandbox: s, args: args}).over(4) {
		if e.code != term.ExitUsage || e.out != "" || !strings.Contains(e.err, line) {
			t.Errorf("rank %d: exit code %d\n%s", rank, e.code, e.err)
		}
	}
}

// A GPU that is lost at one rank ends all with one line and the code for that.
func TestRankLosesItsGPU(t *testing.T) {
	s := fakeGPUs(t, "n=2;mem=64;lost=1:400")
	newStore().write(s, "ok.npz")
	all := (rankRun{sandbox: s, args: []string{"--dataset", "ok.npz", "--epochs", "50", "--hidden", "16", "--quiet"}}).over(2)
	for rank, e := range all {
		if e.code != term.ExitLost || e.err != all[0].err || strings.Count(e.err, "\n") != 1 || !strings.HasPrefix(e.err, "capgnn: rank 1 (host ") || !strings.Contains(e.err, "fell off the bus") {
			t.Errorf("rank %d: exit code %d\n%s", rank, e.code, e.err)
		}
	}
}
