package main

import (
	"math"
	"os"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// Weighed and smoothed losses train however a run does, with the loss of one part; the file of weights is not needed again.
func TestClassWeightsOfRuns(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	if err := os.WriteFile(s.path("weights.txt"), []byte("1 0.5\n0 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	loss := map[string]float64{}
	for name, more := range map[string][]string{
		"one": nil, "parts": {"--devices", "cpu:0,cpu:0"}, "stale": {"--devices", "cpu:0,cpu:0", "--halo-dtype", "int8", "--staleness", "8"},
		"isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "sampled": {"--batch-size", "100", "--fanout", "all,all"},
	} {
		r := s.train(append(small("--run-dir", name, "--class-weights", "weights.txt", "--label-smoothing", "0.1", "--dropout", "0", "--hidden", "8"), more...)...)
		first := metricsOf(t, s.path(name))[0]["loss"].(float64)
		if loss[name] = first; r.Epochs != 12 {
			t.Errorf("%s: %d epochs", name, r.Epochs)
		}
	}
	for name, x := range loss {
		if name != "isolated" && math.Abs(x-loss["one"]) > 1e-5*x { // isolated parts see other neighbours
			t.Errorf("%s: first loss %v, of one part %v", name, x, loss["one"])
		}
	}
	plain := s.train(small("--run-dir", "plain", "--dropout", "0", "--hidden", "8")...)
	if err := os.Remove(s.path("weights.txt")); err != nil {
		t.Fatal(err)
	}
	again := s.train("--config", "one/config.yaml", "--run-dir", "again")
	same := s.train(small("--class-weights", "2,0.5", "--label-smoothing", "0.1", "--dropout", "0", "--hidden", "8")...)
	if again.SHA256 != same.SHA256 || again.SHA256 == plain.SHA256 {
		t.Errorf("weights %s by the config, %s by a list, %s without", again.SHA256, same.SHA256, plain.SHA256)
	}
	if r := s.train(small("--class-weights", "balanced")...); r.SHA256 == plain.SHA256 {
		t.Error("balanced weights change nothing")
	}
	for says, more := range map[string][]string{
		"3 weights": {"--class-weights", "1,2,3"}, "no class of a training vertex": {"--class-weights", "0,0"}, "neither balanced": {"--class-weights", "balancd"}, "1,x is neither balanced": {"--class-weights", "1,x"},
		"class 0: weight 1e+39 is neither 0 nor in": {"--class-weights", "1e39,1"}, "class 1: weight 1e-46 is neither 0 nor in": {"--class-weights", "1,1e-46"}, "class 1: weight NaN is not a number": {"--class-weights", "1,nan"}, "class 0: weight +Inf is not": {"--class-weights", "1e400,1"}, "phases=1": {"--class-weights", "1,2", "--isolated=chunks=4,phases=1"},
	} {
		s.fails(term.ExitUsage, []string{"--class-weights", says}, append([]string{"train", "--quiet"}, small(more...)...)...)
	}
}
