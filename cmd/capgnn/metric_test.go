package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// --metric is what results, curves and the choice of the best weights go by, however a run trains; at its default no file of the run has it.
func TestMetric(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	ways := map[string][]string{
		"one part": nil, "parts": {"--devices", "cpu:0,cpu:0"}, "stale": {"--devices", "cpu:0,cpu:0", "--halo-dtype", "int8", "--staleness", "8"},
		"isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "phases": {"--devices", "cpu:0", "--isolated=chunks=4,phases=1"}, "sampled": {"--batch-size", "8", "--fanout", "3,3", "--epochs", "3"},
	}
	for i, name := range slices.Sorted(maps.Keys(ways)) {
		for j, metric := range []string{"macro-f1", "roc-auc", "average-precision"} {
			if (i+j)%3 > 0 && !long.Wanted() {
				continue
			}
			dir := strings.ReplaceAll(name, " ", "-") + metric
			r := s.train(append(small("--metric", metric, "--run-dir", dir, "--eval-every", "1", "--hidden", "8"), ways[name]...)...)
			if r.Metric != metric || r.Val == nil || *r.Val < 0 || *r.Val > 1 {
				t.Errorf("%s: %s %v", name, r.Metric, r.Val)
			}
			best := -1.0
			for _, line := range metricsOf(t, s.path(dir)) {
				best = max(best, line["val"].(float64))
			}
			if best != *r.Val {
				t.Errorf("%s: the best %s is %v, the result has %v", name, metric, best, *r.Val)
			}
		}
	}
	s.fails(term.ExitUsage, []string{"--metric micro-f1", "accuracy"}, append([]string{"train", "--quiet"}, small("--metric", "micro-f1")...)...)
	s.fails(term.ExitUsage, []string{`--metric best-by="score" is not one of`}, append([]string{"train", "--quiet"}, small("--metric", "best-by=score")...)...)
	s.fails(term.ExitUsage, []string{"--metric", "f1", "not one of"}, append([]string{"train", "--quiet"}, small("--metric", "f1")...)...)
}

// Whatever two classes are called, the metrics by rank are of the one that --metric positive= names, and say so.
func TestPositive(t *testing.T) {
	s := newSandbox(t)
	for _, rare := range []string{"fraud", "zfraud"} { // before and after the other class by name
		var nodes, links strings.Builder
		nodes.WriteString("id,amount,age,cls\n")
		links.WriteString("from,to\n")
		for v := range 240 {
			y := v%12 == 0
			fmt.Fprintf(&nodes, "u%d,%.3f,%.3f,%s\n", v, float64(v*7919%1000)/1000+map[bool]float64{true: 0.35}[y], float64(v*104729%997)/997, map[bool]string{true: rare, false: "ok"}[y])
			fmt.Fprintf(&links, "u%d,u%d\nu%d,u%d\n", v, v*31%240, v, v*77%240)
		}
		s.writeFiles(".", map[string]string{rare + "-n.csv": nodes.String(), rare + "-l.csv": links.String()})
		s.must("data", "tables", "--nodes", rare+"-n.csv", "--links", rare+"-l.csv", "--label", "cls", "--out", rare, "--quiet")
	}
	train := func(data string, more ...string) (*runfolder.Result, string) {
		args := append([]string{"train", "--json", "--dataset", data, "--edges", "symmetric", "--model", "sage", "--hidden", "8", "--epochs", "10", "--split", "0.5,0.25,0.25", "--metric", "average-precision"}, more...)
		stdout, stderr, code := s.run(args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d, %s", args, code, stderr)
		}
		return readResultLine(t, stdout), stderr
	}
	first, note := train("fraud", "--run-dir", "first") // class 1 is ok
	if first.Positive != "ok" || !strings.Contains(note, "note: --metric average-precision is of class ok, which 91.7 % of the labelled vertices have; --metric positive=fraud takes the other one") {
		t.Errorf("positive is %q, %s", first.Positive, note)
	}
	last, note := train("zfraud", "--run-dir", "last")
	if last.Positive != "zfraud" || strings.Contains(note, "labelled vertices have") {
		t.Errorf("positive is %q, %s", last.Positive, note)
	}
	for i, positive := range []string{"fraud", "0"} {
		r, note := train("fraud", "--run-dir", "chosen"+positive, "--metric", "positive="+positive)
		if r.Positive != "fraud" || strings.Contains(note, "labelled vertices have") || *r.Test > 0.8 || *first.Test < 0.9 {
			t.Errorf("%d: positive is %q, test %v and %v, %s", i, r.Positive, *r.Test, *first.Test, note)
		}
	}
	if text := s.must("train", "--dataset", "fraud", "--edges", "symmetric", "--hidden", "8", "--epochs", "1", "--metric", "average-precision,positive=fraud", "--quiet"); !strings.Contains(text, "average-precision of fraud  train") {
		t.Errorf("got %s", text)
	}
	fails := func(want []string, more ...string) {
		s.fails(term.ExitUsage, want, append([]string{"train", "--quiet", "--dataset", "fraud", "--run-dir", "none"}, more...)...)
	}
	fails([]string{"--metric positive=fruad is neither of the classes fraud and ok"}, "--metric", "roc-auc,positive=fruad")
	fails([]string{"--metric positive is for --metric roc-auc and average-precision"}, "--metric", "positive=fraud")
	// Validation vertices of one class have no score by rank.
	s.writeFiles("one", map[string]string{"edges.csv": "a,b\n0,1\n1,2\n2,3\n3,4\n4,5\n", "features.csv": "x\n1\n2\n3\n4\n5\n6\n", "labels.csv": "y\n0\n1\n0\n0\n0\n1\n",
		"train.csv": "0\n1\n", "val.csv": "2\n3\n", "test.csv": "4\n5\n"})
	_, stderr, code := s.run("train", "--dataset", "one", "--run-dir", "one-run", "--epochs", "3", "--metric", "roc-auc", "--patience", "1", "--eval-every", "1")
	if want := "one has validation vertices that have no roc-auc: the last weights count as the best; --patience 1 has no effect"; code != 0 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, %s, want %s", code, stderr, want)
	}
}

// Without validation vertices a note says once that the last weights count as the best, and which settings have no effect; nothing stops the run.
func TestNoValidation(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	const says = "note: ok has no validation vertices: the last weights count as the best"
	for name, more := range map[string][]string{
		"one part": nil, "isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "sampled": {"--batch-size", "8", "--fanout", "3,3"},
	} {
		for flags, then := range map[string]string{
			"": "", "--metric best-by=metric": "", "--metric best-by=loss": "; --metric best-by=loss has no effect", "--patience 1": "; --patience 1 has no effect",
			"--metric best-by=loss --patience 1": "; --metric best-by=loss and --patience 1 have no effect",
		} {
			dir := strings.ReplaceAll(name+flags, " ", "")
			args := append(append(small("--run-dir", dir, "--split", "0.9,0,0.1", "--eval-every", "1", "--epochs", "4"), more...), strings.Fields(flags)...)
			stdout, stderr, code := s.run(append([]string{"train", "--json"}, args...)...)
			if code != 0 || strings.Count(stderr, says) != 1 || !strings.Contains(stderr, says+then+"\n") {
				t.Errorf("%s, %s: exit code %d, %s", name, flags, code, stderr)
				continue
			}
			if r := readResultLine(t, stdout); *r.BestEpoch != 3 || len(metricsOf(t, s.path(dir))) != 4 {
				t.Errorf("%s, %s: best epoch %d of %d", name, flags, *r.BestEpoch, len(metricsOf(t, s.path(dir))))
			}
		}
	}
	if _, stderr, code := s.run(append([]string{"train"}, small("--run-dir", "with", "--patience", "1")...)...); code != 0 || strings.Contains(stderr, "no validation") {
		t.Errorf("with validation vertices: exit code %d, %s", code, stderr)
	}
}

// --metric best-by=loss keeps the weights of the least loss of validation, and stops by it; what is scored stays the metric.
func TestBestByLoss(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	apart := false
	for name, more := range map[string][]string{
		"one part": nil, "parts": {"--devices", "cpu:0,cpu:0"}, "isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "sampled": {"--batch-size", "8", "--fanout", "3,3"},
	} {
		more = append(more, "--metric", "best-by=loss", "--eval-every", "1", "--hidden", "8", "--lr", "0.3", "--epochs", "20", "--patience", "4")
		dir := strings.ReplaceAll(name, " ", "-")
		r, best, score := s.train(append(small("--run-dir", dir), more...)...), -1, -1
		lines := metricsOf(t, s.path(dir))
		for epoch, line := range lines {
			if best < 0 || line["val_loss"].(float64) < lines[best]["val_loss"].(float64) {
				best = epoch
			}
			if score < 0 || line["val"].(float64) > lines[score]["val"].(float64) {
				score = epoch
			}
		}
		if *r.BestEpoch != best || *r.Val != lines[best]["val"].(float64) || r.Metric != "accuracy" {
			t.Errorf("%s: best epoch %d, %s %v; the least loss is of epoch %d, %v", name, *r.BestEpoch, r.Metric, *r.Val, best, lines[best]["val"])
		}
		if want := min(20, best+5); len(lines) != want {
			t.Errorf("%s: %d epochs, want %d: the best one is %d", name, len(lines), want, best)
		}
		apart = apart || best != score
		if got := s.train(append(small("--run-dir", dir+"-2"), append(more, "--checkpoint-every", "1")...)...); got.SHA256 != r.SHA256 {
			t.Errorf("%s: other weights in a second run", name)
		}
		newestCheckpointGone(t, s.path(dir+"-2"))
		if got := s.train("--resume", dir+"-2"); *got.BestEpoch != best || got.SHA256 != r.SHA256 {
			t.Errorf("%s: resumed, the best epoch is %d, want %d", name, *got.BestEpoch, best)
		}
	}
	if !apart {
		t.Error("the loss and the accuracy choose the same epochs: nothing was compared")
	}
}
