package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// Each seed has the run that --seed makes, the summary is that of the runs, and a folder of which runs are missing or unfinished is completed to the same bits.
func TestSeeds(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	summary := func(args ...string) (out runfolder.Summary) {
		t.Helper()
		stdout := s.must(append([]string{"train", "--json", "--quiet"}, args...)...)
		if err := json.Unmarshal([]byte(stdout[strings.LastIndex(strings.TrimSpace(stdout), "\n")+1:]), &out); err != nil {
			t.Fatal(err, stdout)
		}
		return out
	}
	first := summary(small("--seeds", "4-5,2", "--run-dir", "all", "--checkpoint-every", "1")...)
	if first.Val.Runs != 3 || first.Val.Mean == nil || first.Val.Deviation == nil || first.Metric != "accuracy" || len(first.Runs) != 3 || first.Dir != "all" {
		t.Fatalf("%+v", first)
	}
	mean := 0.0
	sums := map[string]string{}
	for i, seed := range []string{"4", "5", "2"} {
		r, err := runfolder.Dir(s.path("all/seed-" + seed)).ReadResult()
		if err != nil || r == nil {
			t.Fatal(err)
		}
		mean, sums[seed] = mean+*r.Val/3, r.SHA256
		if i == 0 {
			if alone := s.train(small("--seed", seed)...); alone.SHA256 != r.SHA256 {
				t.Errorf("seed %s has other weights than alone", seed)
			}
		}
	}
	if math.Abs(mean-*first.Val.Mean) > 1e-12 {
		t.Errorf("mean %v, of the runs %v", *first.Val.Mean, mean)
	}
	page, err := os.ReadFile(s.path("all/report.html"))
	if err != nil || !strings.Contains(string(page), "3 seeds") || !strings.Contains(string(page), "±") {
		t.Errorf("report: %v", err)
	}
	s.must("report", "all", "--out", "again.html")
	if same, err := os.ReadFile(s.path("again.html")); err != nil || string(same) != string(page) {
		t.Errorf("capgnn report draws another page than train: %v", err)
	}
	for _, gone := range []string{"seed-5/result.json", "seed-5/last.safetensors", "seed-2", "summary.json"} {
		if err := os.RemoveAll(s.path("all/" + gone)); err != nil {
			t.Fatal(err)
		}
	}
	newestCheckpointGone(t, s.path("all/seed-5"))
	if err := os.Remove(s.path("all/seed-4/report.html")); err != nil { // it was killed as it wrote it
		t.Fatal(err)
	}
	s.must("report", "all")
	page, err = os.ReadFile(s.path("all/report.html"))
	if err != nil || !strings.Contains(string(page), "2 seeds") || !strings.Contains(string(page), ", from 1 of 3 seeds: the others have no score") {
		t.Errorf("report of one finished run of three: %v", err)
	}
	again := summary("--resume", "all")
	if _, err := os.Stat(s.path("all/seed-4/report.html")); err != nil {
		t.Errorf("resumed: no report of a finished run: %v", err)
	}
	if *again.Val.Mean != *first.Val.Mean || *again.Loss.Mean != *first.Loss.Mean {
		t.Errorf("resumed: validation %v, loss %v, want %v, %v", *again.Val.Mean, *again.Loss.Mean, *first.Val.Mean, *first.Loss.Mean)
	}
	for seed, want := range sums {
		if r, err := runfolder.Dir(s.path("all/seed-" + seed)).ReadResult(); err != nil || r.SHA256 != want {
			t.Errorf("seed %s resumed: %v", seed, err)
		}
	}
	if one := summary(small("--seeds", "7", "--epochs", "2")...); one.Val.Deviation != nil || !strings.HasPrefix(one.Dir, "runs/") {
		t.Errorf("%+v", one)
	}
	sampled := summary(small("--seeds", "1,2", "--epochs", "2", "--batch-size", "8", "--fanout", "3,3", "--metric", "macro-f1")...)
	if sampled.Metric != "macro-f1" || sampled.Epochs.Mean == nil || *sampled.Epochs.Mean != 2 {
		t.Errorf("%+v", sampled)
	}
	for says, more := range map[string][]string{
		"seed 2 is said twice": {"--seeds", "1-3,2"}, "is not a seed": {"--seeds", "one"}, "--seeds with --seed": {"--seeds", "1-3", "--seed", "2"}, "drop --seeds": {"--seeds", "1-3", "--resume", "all"},
		"already holds runs of several seeds": {"--seeds", "1-3", "--run-dir", "all"}, "drop --dataset": {"--resume", "all", "--hidden", "3"}, "is not one of": {"--seeds", "1-3", "--model", "gnc", "--run-dir", "new"},
	} {
		s.fails(term.ExitUsage, []string{says}, append([]string{"train", "--quiet", "--dataset", "ok.npz"}, more...)...)
	}
	s.fails(term.ExitUsage, []string{"already holds runs of several seeds"}, append([]string{"train", "--quiet", "--run-dir", "all"}, small()...)...)
	s.train(small("--run-dir", "other")...)
	if out := s.must("report", "all", "other"); strings.Count(out, " all/seed-4\n") != 1 || strings.Count(out, " all/seed-5\n") != 1 || strings.Count(out, "4  other\n") != 1 {
		t.Errorf("comparison:\n%s", out)
	}
	refused := append([]string{"train", "--quiet", "--seeds", "1-2", "--isolated"}, small("--devices", "cpu:0")...)
	s.fails(term.ExitUsage, []string{"seed 1: --isolated"}, append(refused, "--run-dir", "new")...)
	if term.Exists(s.path("new")) {
		t.Error("a folder is left of a run that was refused")
	}
	if err := os.Mkdir(s.path("mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.fails(term.ExitUsage, []string{"seed 1: --isolated"}, append(refused, "--run-dir", "mine")...)
	s.fails(term.ExitUsage, []string{"seed 1: --isolated"}, refused...)
	summary(small("--seeds", "1-2", "--epochs", "1", "--run-dir", "mine")...)
	if left, _ := filepath.Glob(s.path("runs/*-seeds-*")); len(left) != 2 { // of the runs above
		t.Errorf("a folder is left of runs that were refused: %q", left)
	}
}

// A folder is made neither at the place of a link to what is not there nor below it, and the link stays.
func TestFoldersAtLinks(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	if err := os.Mkdir(s.path("data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "nowhere", "linked": s.path("data")} {
		if err := os.Symlink(to, s.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	commands := [][]string{append([]string{"train", "--run-dir"}, small()...), append([]string{"train", "--seeds", "1-2", "--run-dir"}, small()...)}
	stores := [][]string{{"data", "import", "ok.npz", "--out"}, {"data", "synth", "flickr-like", "--scale", "0.01", "--out"}, {"partition", "--dataset", "ok.npz", "--machines", "2", "--shards"}}
	commands = append(commands, []string{"data", "fetch", "planetoid_cora", "--url", "http://localhost:1", "--out"}, []string{"bench", "halo", "--quick", "--out"})
	for _, args := range append(commands, stores...) {
		at := 1 + slices.IndexFunc(args, func(a string) bool { return a == "--run-dir" || a == "--out" || a == "--shards" })
		for _, path := range []string{"link", "link/", "link/below"} {
			s.fails(term.ExitUsage, []string{args[at-1], "link is a link to nowhere, which is not there"}, slices.Insert(slices.Clone(args), at, path)...)
		}
		if to, err := os.Readlink(s.path("link")); err != nil || to != "nowhere" {
			t.Fatalf("%q: the link is gone: %v", args, err)
		}
	}
	for _, args := range stores {
		s.fails(term.ExitUsage, []string{"linked is a link: put a folder in its place"}, append(args, "linked")...)
	}
}

// Folders that a refused run has made go with it, those above it too.
func TestRefusedRunsLeaveNoFolders(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, more := range [][]string{{"--parts", "100"}, {"--parts", "100", "--seeds", "1-2"}} {
		s.fails(term.ExitUsage, []string{"100"}, append([]string{"train", "--quiet", "--run-dir", "a/b/c"}, append(small(), more...)...)...)
		if _, err := os.Stat(s.path("a")); err == nil {
			t.Errorf("%q: the folder above the run's stays", more)
		}
	}
}

// Whenever runs of several seeds are stopped at once, the line names the folder of all of them, which --resume takes.
func TestSeedsStoppedAtOnce(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.must("data", "synth", "flickr-like", "--scale", "0.1", "--out", "graph", "--quiet")
	for file, when := range map[string]string{"seeds.json": "before the first epoch", "seed-1/metrics.jsonl": "in an epoch"} {
		cmd := s.command("train", "--dataset", "graph", "--epochs", "100000", "--hidden", "512", "--seeds", "1-2", "--run-dir", "all", "--quiet")
		var text strings.Builder
		cmd.Stderr = &text
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); !term.Exists(s.path("all/" + file)); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				cmd.Process.Kill()
				t.Fatalf("no %s within a minute", file)
			}
		}
		for range 2 {
			cmd.Process.Signal(syscall.SIGTERM)
			time.Sleep(time.Millisecond) // two at once are one
		}
		_ = cmd.Wait() // its exit code says what there is to say
		if code := cmd.ProcessState.ExitCode(); code != term.ExitInterrupted || !strings.Contains(text.String(), "`capgnn train --resume all`") {
			t.Errorf("%s: exit code %d, %s", when, code, text.String())
		}
		if err := os.RemoveAll(s.path("all")); err != nil {
			t.Fatal(err)
		}
	}
}
