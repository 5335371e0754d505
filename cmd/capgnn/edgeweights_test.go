package main

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/npy"
)

// weights are those of the edges of newStore, others in each direction.
func weights() []float32 {
	w := make([]float32, 120)
	for e := range w {
		w[e] = float32(1+e*7%23) / 8
	}
	return w
}

// Edge weights decide a run, on any number of devices and ranks, with any order of vertices, and its predictions; --ignore-weights leaves them out, and config.yaml
// keeps that. Sampled training has them too: with all neighbours in one batch a step is an epoch.
func TestEdgeWeights(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "plain.npz")
	st := newStore()
	st["edge_weight"] = npy.Entry{Data: weights()}
	st.write(s, "weighted.npz")
	s.must("data", "import", "weighted.npz", "--out", "store")
	if i := resultOf[datasets.Info](t, s.must("data", "info", "store", "--json")); i.Weights == nil || i.Weights.Min != 0.125 || i.Weights.Max != 2.875 || i.Weights.Symmetric {
		t.Errorf("the store has the weights %+v", i.Weights)
	}
	if text := s.must("data", "info", "store"); !strings.Contains(text, "edge weights    0.1250 to 2.875, mean 1.492; not equal") {
		t.Error(text)
	}
	common := []string{"--epochs", "4", "--hidden", "4", "--dropout", "0"}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-4 }
	for i, model := range []string{"gcn", "sage", "gin"} {
		with := func(args ...string) float64 {
			t.Helper()
			return float64(s.train(append(append([]string{"--model", model}, common...), args...)...).FinalLoss)
		}
		plain, run := with("--dataset", "plain.npz"), "run-"+model
		want := with("--dataset", "store", "--run-dir", run)
		if near(want, plain) {
			t.Errorf("%s: loss %v with weights and without", model, want)
		}
		if got := with("--dataset", "store", "--ignore-weights", "--run-dir", "ignored-"+model); got != plain {
			t.Errorf("%s: loss %v with weights that are ignored, %v without", model, got, plain)
		}
		more := [][]string{{"--devices", "cpu:0,cpu:1", "--order", "community", "--cache", "jaca"}, {"--devices", "cpu:0,cpu:1", "--batch-size", "1000", "--fanout", "all,all,all"}}[i%2:]
		for k, args := range more {
			if got := with(append([]string{"--dataset", "store"}, args...)...); !near(got, want) {
				t.Errorf("%s %v: loss %v, want %v", model, more[k], got, want)
			}
		}
		if i == 2 {
			apart := []string{"--dataset", "store", "--isolated=chunks=4,phases=2", "--devices", "cpu:0,cpu:1"}
			if got, same := with(apart...), with(append(apart, "--ignore-weights")...); near(got, same) {
				t.Errorf("%s, isolated: loss %v with weights and without", model, got)
			}
		}
		if i == 0 {
			if got := float64(s.train("--config", "ignored-"+model+"/config.yaml").FinalLoss); got != plain {
				t.Errorf("%s: a repetition of a run that ignored weights has the loss %v, want %v", model, got, plain)
			}
			args := append([]string{"launch", "-n", "2", "--quiet", "--json", "--", "train", "--dataset", "store", "--model", model, "--devices", progtest.CPUs(1)}, common...)
			if got := float64(readResultLine(t, s.must(args...)).FinalLoss); !near(got, want) {
				t.Errorf("%s: loss %v on two ranks, want %v", model, got, want)
			}
		}
		if i == 2 {
			continue
		}
		logits := s.logits(run)
		if got := s.logits(run, "--devices", "cpu:0,cpu:1"); !slices.EqualFunc(got, logits, func(a, b float32) bool { return near(float64(a), float64(b)) }) {
			t.Errorf("%s: one device predicts %v, two %v", model, logits, got)
		}
	}
}

// What does not go with edge weights is said in one line, and so is what is wrong with them.
func TestEdgeWeightsRefused(t *testing.T) {
	s := newSandbox(t)
	store := func(name string, w any) string {
		st := newStore()
		st["edge_weight"] = npy.Entry{Data: w}
		return st.write(s, name)
	}
	ok, negative, nan := store("ok.npz", weights()), weights(), weights()
	negative[2], negative[3], nan[7] = -3, 0.5, float32(math.NaN())
	train := func(dataset string, args ...string) []string {
		return append([]string{"train", "--dataset", dataset, "--epochs", "1", "--hidden", "4", "--quiet"}, args...)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--model gat: the model does not take edge weights", train(ok, "--model", "gat")},
		{"--model gcn: the model divides by the root of the sum of the weights into a vertex, which is -1.5 at vertex 1 and must be positive", train(store("negative.npz", negative), "--model", "gcn")},
	} {
		s.fails(term.ExitUsage, []string{c.want, "--ignore-weights"}, c.args...)
		s.must(append(c.args, "--ignore-weights")...)
	}
	s.must(train("negative.npz", "--model", "sage")...)
	for want, w := range map[string]any{
		"edge_weight.npy: byte 156: edge 7 has the weight NaN; weights must be finite": nan,
		"edge_weight.npy: has shape [119], want a weight for each of 120 edges":        weights()[1:],
		"edge_weight.npy: holds elements of type <U1, want numbers":                    slices.Repeat([]string{"a"}, 120),
	} {
		s.fails(term.ExitUsage, []string{want}, train(store("bad.npz", w))...)
	}
}

// An experiment one of whose models takes no edge weights is refused before it measures.
func TestBenchRefusesEdgeWeights(t *testing.T) {
	s := newSandbox(t)
	st := newStore()
	st["edge_weight"] = npy.Entry{Data: weights()}
	st.write(s, "weighted.npz")
	s.fails(term.ExitUsage, []string{"--datasets weighted.npz: has edge weights, which gat of this experiment does not take"},
		"bench", "grappa", "--quiet", "--quick", "--datasets", "weighted.npz", "--out", "results")
	if lines, err := os.ReadFile(s.path("results/cells.jsonl")); err != nil || len(lines) > 0 {
		t.Errorf("%v, it has measured %s", err, lines)
	}
}
