package main

import (
	"fmt"
	"testing"
)

// Isolated parts give the bits of one process however they are grouped into ranks, also with more chunks than devices; too few chunks are refused by all.
func TestIsolatedRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "7", "--eval-every", "3", "--isolated=chunks=5,correction=inclusion,targets=both"}
	want := s.train(append(args, "--devices", cpus(2), "--run-dir", "alone")...)
	for _, ranks := range []int{2, 4} {
		run := rankRun{sandbox: s, args: append(args, "--devices", cpus(1), "--json", "--quiet", "--run-dir", fmt.Sprint("ranks", ranks))}
		all := run.over(ranks)
		if all[0].code != 0 {
			t.Fatalf("%d ranks: exit code %d\n%s", ranks, all[0].code, all[0].err)
		}
		if got := readResultLine(t, all[0].out); got.SHA256 != want.SHA256 || got.Parts != 5 {
			t.Errorf("%d ranks: %d parts, weights %s; one process %s", ranks, got.Parts, got.SHA256, want.SHA256)
		}
	}
	for rank, e := range (rankRun{sandbox: s, args: []string{"--dataset", "ok.npz", "--isolated=chunks=1000", "--devices", cpus(1), "--quiet"}}).over(2) {
		if e.code != 2 {
			t.Errorf("rank %d of a run with more chunks than vertices: exit code %d\n%s", rank, e.code, e.err)
		}
	}
}
