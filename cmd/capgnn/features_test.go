package main

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/term"
)

// logits predicts with a run on 60 vertices of two classes.
func (s *sandbox) logits(run string, args ...string) []float32 {
	s.T.Helper()
	s.must(append([]string{"predict", "--run", run, "--out", "logits.npy", "--quiet"}, args...)...)
	return s.Floats("logits.npy", 60, 2)
}

// bare writes a store without features.
func bare(s *sandbox, name string) string {
	st := newStore()
	delete(st, "x")
	return st.write(s, name)
}

// A graph without features trains on made ones, which config.yaml keeps: the run repeats, resumes and predicts with them.
func TestMadeFeatures(t *testing.T) {
	s := newSandbox(t)
	bare(s, "bare.npz")
	s.fails(term.ExitUsage, []string{"no features", "--features degree, onehot or random:64"}, "train", "--dataset", "bare.npz", "--quiet")
	for i, features := range []string{"degree", "onehot", "random:5"} {
		dir := "run" + string(rune('a'+i))
		first := s.train("--dataset", "bare.npz", "--features", features, "--epochs", "3", "--hidden", "4", "--run-dir", dir)
		config, err := os.ReadFile(s.path(dir + "/config.yaml"))
		if err != nil || !strings.Contains(string(config), "\nfeatures: "+features+"\n") {
			t.Errorf("config.yaml does not keep --features %s: %v", features, err)
		}
		if r := s.train("--config", dir+"/config.yaml"); r.SHA256 != first.SHA256 {
			t.Errorf("--features %s: the run does not repeat", features)
		}
		two := s.train("--dataset", "bare.npz", "--features", features, "--epochs", "3", "--hidden", "4", "--devices", "cpu:0,cpu:1")
		if math.Abs(float64(two.FinalLoss-first.FinalLoss)) > 1e-4 {
			t.Errorf("--features %s: loss %v on two devices, %v on one", features, two.FinalLoss, first.FinalLoss)
		}
		logits := s.logits(dir)
		if again := s.logits(dir, "--dataset", "bare.npz", "--devices", "cpu:0,cpu:1"); !slices.EqualFunc(logits, again, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-4 }) {
			t.Errorf("--features %s: one device predicts %v, two %v", features, logits, again)
		}
	}
	// In place of features that are there, and not refused for a store that was standardised.
	newStore().write(s, "ok.npz")
	if r := s.train("--dataset", "ok.npz", "--features", "onehot", "--epochs", "1", "--hidden", "4"); r.Dataset != "ok" {
		t.Errorf("%+v", r)
	}
	s.fails(term.ExitUsage, []string{"--features degree", "--standardize train"}, "train", "--dataset", "ok.npz", "--features", "degree", "--standardize", "train")
	s.fails(term.ExitUsage, []string{"random:64", "random:WIDTH"}, "train", "--dataset", "ok.npz", "--features", "random")
	s.must("plan", "--dataset", "bare.npz", "--features", "degree", "--hidden", "4")
	s.must("partition", "--dataset", "bare.npz", "--features", "random:4", "--parts", "2")
	s.must("data", "import", "bare.npz", "--features", "random:4", "--seed", "2", "--out", "with")
	if i := resultOf[datasets.Info](t, s.must("data", "info", "with", "--json")); i.Features == nil || i.Features.Columns != 4 {
		t.Errorf("the imported store has %+v", i.Features)
	}
}

// One-hot features are of the run's own vertices: another number of them is refused, and of as many a line says what is taken for what.
func TestMadeFeaturesElsewhere(t *testing.T) {
	s := newSandbox(t)
	bare(s, "bare.npz")
	more := newStore()
	delete(more, "x")
	indptr, y := more["indptr"], more["y"]
	indptr.Data, y.Data = append(indptr.Data.([]int64), 120), append(y.Data.([]int64), 1)
	more["indptr"], more["y"] = indptr, y
	more.write(s, "more.npz")
	bare(s, "twin.npz")
	for _, features := range []string{"degree", "onehot", "random:5"} {
		s.train("--dataset", "bare.npz", "--features", features, "--epochs", "1", "--hidden", "4", "--run-dir", features[:3])
	}
	s.fails(term.ExitUsage, []string{"61 vertices", "has 60", "onehot"}, "predict", "--run", "one", "--dataset", "more.npz", "--quiet")
	for _, run := range []string{"deg", "ran"} {
		s.must("predict", "--run", run, "--dataset", "more.npz", "--quiet")
	}
	for run, want := range map[string]bool{"deg": false, "one": true, "ran": true} {
		_, stderr, code := s.run("predict", "--run", run, "--dataset", "twin.npz")
		if code != 0 || strings.Contains(stderr, "vertex v is taken as vertex v") != want {
			t.Errorf("%s: exit code %d, %q", run, code, stderr)
		}
	}
}
