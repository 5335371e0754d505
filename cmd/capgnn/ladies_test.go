package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

// Layers that are drawn have the same bits over ranks and when a run goes on; plan and predict take them, and what they cannot be drawn for is refused in one line.
func TestLadies(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--batch-size", "16", "--sampler", "ladies"}
	run := func(more ...string) []string { return append(append([]string{}, args...), more...) }
	want := s.train(run("--devices", progtest.CPUs(2), "--epochs", "6", "--run-dir", "alone")...)
	if want.Sampling.Fanout != "16,16,all" {
		t.Errorf("layers of %s vertices, want 16,16,all", want.Sampling.Fanout)
	}
	config, err := os.ReadFile(s.path("alone/config.yaml"))
	if err != nil || !strings.Contains(string(config), "sampler: ladies\n") {
		t.Errorf("config.yaml is without the sampler (%v):\n%s", err, config)
	}
	if out := s.must(append([]string{"plan"}, run("--devices", progtest.CPUs(2))...)...); !strings.Contains(out, "layers of 16,16,all vertices") {
		t.Errorf("plan does not say what layers draw:\n%s", out)
	}
	s.must("predict", "--run", "alone", "--what", "labels", "--devices", progtest.CPUs(1), "--quiet")
	s.train(run("--devices", progtest.CPUs(2), "--epochs", "3", "--run-dir", "longer")...)
	if got := s.train("--resume", "longer", "--epochs", "6"); got.SHA256 != want.SHA256 {
		t.Errorf("weights %s after a resume, want %s", got.SHA256, want.SHA256)
	}
	all := progtest.RankRun{Sandbox: s.Sandbox, Args: run("--devices", progtest.CPUs(1), "--epochs", "6", "--json", "--quiet", "--run-dir", "ranks")}.Over(2)
	if all[0].Code != 0 {
		t.Fatalf("2 ranks: exit code %d\n%s", all[0].Code, all[0].Err)
	}
	if got := readResultLine(t, all[0].Out); got.SHA256 != want.SHA256 {
		t.Errorf("2 ranks: weights %s, one process %s", got.SHA256, want.SHA256)
	}
	// A number of neighbours is none of vertices: it is not taken over.
	if got := s.train("--config", "alone/config.yaml", "--sampler", "neighbor", "--epochs", "1", "--run-dir", "other"); got.Sampling.Fanout != "15,10,all" {
		t.Errorf("fan-outs %s behind layers, want 15,10,all", got.Sampling.Fanout)
	}
	for more, line := range map[string]string{"--model gat": "attention weighs edges by itself", "--isolated=chunks=4": "isolated parts draw neighbours", "--sampler other": "not one of neighbor, ladies",
		"--batch-size 0": "for sampled training only"} {
		s.fails(term.ExitUsage, []string{line}, append([]string{"train"}, run(append(strings.Fields(more), "--run-dir", fmt.Sprint("bad", len(more)))...)...)...)
	}
}
