package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// Clipped runs report the norm of every epoch, that of one part where the first gradient is the same, however they train; resumed ones go on.
func TestClipNorm(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	norms := func(dir string) (all []float64) {
		for _, line := range metricsOf(t, s.path(dir)) {
			all = append(all, line["grad_norm"].(float64))
		}
		return all
	}
	first := map[string]float64{}
	for name, more := range map[string][]string{
		"one": nil, "parts": {"--devices", "cpu:0,cpu:0"}, "devices": {"--devices", "cpu:threads=1,cpu:threads=1", "--parts", "3"}, "stale": {"--devices", "cpu:0,cpu:0", "--halo-dtype", "int8", "--staleness", "8"},
		"isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "phases": {"--devices", "cpu:0", "--isolated=chunks=4,phases=1"},
		"sampled": {"--batch-size", "100", "--fanout", "all,all"}, "steps": {"--batch-size", "4", "--fanout", "2,2"},
	} {
		s.train(append(small("--run-dir", name, "--clip-norm", "0.1", "--dropout", "0", "--hidden", "8"), more...)...)
		all := norms(name)
		if first[name] = all[0]; len(all) != 12 || !(all[0] > 0) {
			t.Errorf("%s: norms %v", name, all)
		}
	}
	for _, name := range []string{"parts", "devices", "stale", "sampled"} {
		if math.Abs(first[name]-first["one"]) > 1e-4*first["one"] {
			t.Errorf("%s: first norm %v, of one part %v", name, first[name], first["one"])
		}
	}
	args := small("--clip-norm", "0.1", "--batch-size", "4", "--fanout", "2,2", "--checkpoint-every", "1")
	whole := s.train(append(args, "--run-dir", "whole")...)
	s.train(append(args, "--run-dir", "again")...)
	s.unfinished("again")
	if r := s.train("--resume", "again"); r.SHA256 != whole.SHA256 || norms("again")[11] != norms("whole")[11] {
		t.Errorf("resumed: %s, norm %v; want %s, %v", r.SHA256, norms("again")[11], whole.SHA256, norms("whole")[11])
	}
	plain := s.train(small("--run-dir", "plain")...)
	loose := s.train(small("--run-dir", "loose", "--clip-norm", "1e9")...)
	if text, err := os.ReadFile(s.path("plain/metrics.jsonl")); err != nil || strings.Contains(string(text), "grad_norm") || loose.SHA256 != plain.SHA256 {
		t.Errorf("%v, %s; weights %s, clipped by a norm that is never reached %s", err, text, plain.SHA256, loose.SHA256)
	}
	for _, bad := range []string{"-1", "NaN", "inf"} {
		s.fails(term.ExitUsage, []string{"--clip-norm "}, append([]string{"train", "--quiet"}, small("--clip-norm", bad)...)...)
	}
}
