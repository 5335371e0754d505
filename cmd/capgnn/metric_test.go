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
	s.fails(term.ExitUsage, []string{"--metric", "f1", "not one of"}, append([]string{"train", "--quiet"}, small("--metric", "f1")...)...)
}
