package main

import (
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// --metric is what results, curves and the choice of the best weights go by, however a run trains; at its default no file of the run has it.
func TestMetric(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for name, more := range map[string][]string{
		"one part": nil, "parts": {"--devices", "cpu:0,cpu:0"}, "stale": {"--devices", "cpu:0,cpu:0", "--comm", "stale"},
		"isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "phases": {"--devices", "cpu:0", "--isolated=chunks=4,phases=1"}, "sampled": {"--batch-size", "8", "--fanout", "3,3", "--epochs", "3"},
	} {
		for _, metric := range []string{"macro-f1", "roc-auc", "average-precision"} {
			dir := strings.ReplaceAll(name, " ", "-") + metric
			r := s.train(append(small("--metric", metric, "--run-dir", dir, "--eval-every", "1", "--hidden", "8"), more...)...)
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
	s.train(small("--run-dir", "plain")...)
	if text, err := os.ReadFile(s.path("plain/config.yaml")); err != nil || strings.Contains(string(text), "metric") {
		t.Errorf("%v, %s", err, text)
	}
	s.fails(term.ExitUsage, []string{"--metric micro-f1", "accuracy"}, append([]string{"train", "--quiet"}, small("--metric", "micro-f1")...)...)
	s.fails(term.ExitUsage, []string{"--best-by", "score", "not one of"}, append([]string{"train", "--quiet"}, small("--best-by", "score")...)...)
	s.fails(term.ExitUsage, []string{"--metric", "f1", "not one of"}, append([]string{"train", "--quiet"}, small("--metric", "f1")...)...)
}

// Without validation vertices a note says once that the newest weights count as the best, and which settings have no effect; nothing stops the run.
func TestNoValidation(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	const says = "note: ok has no validation vertices: the newest weights count as the best"
	for name, more := range map[string][]string{
		"one part": nil, "isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "sampled": {"--batch-size", "8", "--fanout", "3,3"},
	} {
		for flags, then := range map[string]string{
			"": "", "--best-by metric": "", "--best-by loss": "; --best-by loss has no effect", "--patience 1": "; --patience 1 has no effect",
			"--best-by loss --patience 1": "; --best-by loss and --patience 1 have no effect",
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

// --best-by loss keeps the weights of the least loss of validation, and stops by it; what is scored stays the metric.
func TestBestByLoss(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	apart := false
	for name, more := range map[string][]string{
		"one part": nil, "parts": {"--devices", "cpu:0,cpu:0"}, "isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "sampled": {"--batch-size", "8", "--fanout", "3,3"},
	} {
		more = append(more, "--best-by", "loss", "--eval-every", "1", "--hidden", "8", "--lr", "0.3", "--epochs", "20", "--patience", "4")
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
