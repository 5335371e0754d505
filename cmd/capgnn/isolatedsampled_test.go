package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

// Isolated parts on samples have the same bits on any devices and over ranks, in phases too; the result says what they have seen, and plan and
// predict take them. What they do not have is refused in one line.
func TestIsolatedSampled(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for i, how := range []string{"chunks=3,correction=resampling", "chunks=5,phases=3,targets=both,layers=all"} {
		run := func(name string) string { return fmt.Sprint(name, i) }
		args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "6", "--batch-size", "16", "--fanout", "3,4,all", "--isolated=" + how}
		want := s.train(append(args, "--devices", progtest.CPUs(2), "--run-dir", run("alone"))...)
		if x := want.Isolated; x.AtATime != 3 || x.Chunks != []int{3, 5}[i] || x.Switches == 0 || x.Coverage <= 0 || want.Parts != x.Chunks {
			t.Errorf("%s: %d parts, %+v", how, want.Parts, x)
		}
		one := s.train(append(args, "--devices", progtest.CPUs(1), "--run-dir", run("one"))...)
		if one.SHA256 != want.SHA256 {
			t.Errorf("%s: weights %s on one device, %s on two", how, one.SHA256, want.SHA256)
		}
		metrics, err := os.ReadFile(s.path(run("one") + "/metrics.jsonl"))
		if n := bytes.Count(metrics, []byte(`"isolated":{"shift":`)); err != nil || n != 6 {
			t.Errorf("%s: %d of 6 epochs say what parts held, %v", how, n, err)
		}
		s.must(append([]string{"plan", "--json"}, args...)...)
		s.must("predict", "--run", run("alone"), "--what", "labels", "--devices", progtest.CPUs(1), "--quiet")
		for _, ranks := range []int{2, 3} {
			dir := fmt.Sprint("ranks", i, ranks)
			all := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--devices", progtest.CPUs(1), "--json", "--quiet", "--run-dir", dir)}.Over(ranks)
			if all[0].Code != 0 {
				t.Fatalf("%s, %d ranks: exit code %d\n%s", how, ranks, all[0].Code, all[0].Err)
			}
			if got := readResultLine(t, all[0].Out); got.SHA256 != want.SHA256 || *got.Test != *want.Test {
				t.Errorf("%s, %d ranks: weights %s, test %g; one process %s, %g", how, ranks, got.SHA256, *got.Test, want.SHA256, *want.Test)
			}
		}
	}
	for _, more := range []string{"--sampling hopgnn", "--sampling default,place=batch", "--sampling default,cache=10%", "--machines 2 --partitioner multilevel", "--machines net=10Gbit/s"} {
		args := append([]string{"plan", "--dataset", "ok.npz", "--devices", progtest.CPUs(1), "--batch-size", "16", "--isolated=chunks=4"}, strings.Fields(more)...)
		s.fails(term.ExitUsage, []string{"isolated parts have their own training vertices as roots"}, args...)
	}
}
