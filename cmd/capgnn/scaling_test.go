package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/internal/npy"
)

// A run that standardised its features predicts another data set with its own mean and deviation, not with that one's.
func TestPredictScaling(t *testing.T) {
	s := newSandbox(t)
	whole := newStore()
	x := whole["x"].Data.([]float32)
	for i := range x {
		x[i] = 3*x[i] + float32(i/6)/20 // the rings have other means
	}
	whole["train_mask"] = npy.Entry{Data: slices.Repeat([]bool{true, false, true}, 20)}
	whole.write(s, "whole.npz")
	half := store{ // the first ring, without labels and splits
		"indptr": {Data: whole["indptr"].Data.([]int64)[:31]}, "indices": {Data: whole["indices"].Data.([]int32)[:60]}, "x": {Shape: []int{30, 6}, Data: x[:180]},
	}
	half.write(s, "half.npz")
	s.train(small("--run-dir", "run", "--dataset", "whole.npz", "--standardize", "train")...)
	s.predict("--run", "run")
	want := s.Floats("run/logits.npy", 60, 2)
	same := func(got []float32) {
		t.Helper()
		for i, y := range got {
			// The rings are not connected, so the other one's absence changes nothing but rounding.
			if math.Abs(float64(y-want[i])) > 1e-5 {
				t.Fatalf("logit %d is %g, in the whole graph %g", i, y, want[i])
			}
		}
	}
	same(s.Floats(s.predict("--run", "run", "--dataset", "half.npz").Out, 30, 2))

	a, err := npy.OpenArchive(s.path("run/standardize.npz"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, key := range []string{"mean", "deviation"} {
		if v, err := a.Array(key); err != nil || v.DType != (npy.DType{Kind: 'f', Size: 8}) || !slices.Equal(v.Shape, []int{6}) {
			t.Errorf("%s: %+v, %v", key, v, err)
		}
	}
	narrow := newStore()
	narrow["x"] = npy.Entry{Shape: []int{60, 5}, Data: make([]float32, 300)}
	narrow.write(s, "narrow.npz")
	s.fails(term.ExitUsage, []string{"narrow.npz", "5", "6"}, "predict", "--quiet", "--run", "run", "--dataset", "narrow.npz")
	if err := os.WriteFile(s.path("run/standardize.npz"), []byte("PK"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.fails(term.ExitUsage, []string{"standardize.npz"}, "predict", "--quiet", "--run", "run", "--dataset", "half.npz")
	// Without the file the run's own data set is enough.
	if err := os.Remove(s.path("run/standardize.npz")); err != nil {
		t.Fatal(err)
	}
	s.fails(term.ExitUsage, []string{"--run run", "mean and deviation", "train it again"}, "predict", "--quiet", "--run", "run", "--dataset", "half.npz")
	s.predict("--run", "run", "--out", "old.npy")
	same(s.Floats("old.npy", 60, 2))
	// A run that did not standardise has none and needs none.
	s.train(small("--run-dir", "plain", "--dataset", "whole.npz")...)
	if term.Exists(s.path("plain/standardize.npz")) {
		t.Error("a run without standardising keeps a mean")
	}
	s.predict("--run", "plain", "--dataset", "half.npz")
}

// Without a train_mask the rows that the split trains on standardise the features, those of this seed whatever was remembered.
func TestStandardizeBySplit(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	bare, masked := newStore(), newStore()
	for _, st := range []store{bare, masked} {
		x := st["x"].Data.([]float32)
		for i := range x {
			x[i] += float32(i%7) * float32(i/6)
		}
	}
	if err := os.Mkdir(s.path("alone"), 0o755); err != nil {
		t.Fatal(err)
	}
	bare.write(s, "alone/bare.npz")
	time.Sleep(2100 * time.Millisecond) // files that have been left alone for 2 s are remembered
	for _, seed := range []uint64{1, 2} {
		train, val, test, err := dataset.Split(60, slices.Concat(slices.Repeat([]int32{0}, 30), slices.Repeat([]int32{1}, 30)), seed, dataset.DefaultFractions)
		if err != nil {
			t.Fatal(err)
		}
		masked["train_mask"], masked["val_mask"], masked["test_mask"] = npy.Entry{Data: train}, npy.Entry{Data: val}, npy.Entry{Data: test}
		name := masked.write(s, fmt.Sprintf("masked%d.npz", seed))
		args := func(dataset string) []string {
			return small("--dataset", dataset, "--standardize", "train", "--seed", fmt.Sprint(seed))
		}
		want := s.train(args(name)...)
		if got := s.train(args("alone/bare.npz")...); got.SHA256 != want.SHA256 || *got.Test != *want.Test {
			t.Errorf("seed %d: weights are %s, with masks in the file %s", seed, got.SHA256, want.SHA256)
		}
	}
	remembered, err := filepath.Glob(s.path("cache/capgnn/data-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]bool{}
	for _, file := range remembered {
		var m struct {
			Path string
			Sums struct{ Features string }
		}
		if err := diskcache.ReadJSON(file, &m); err == nil && strings.HasSuffix(m.Path, "bare.npz") {
			sums[m.Sums.Features] = true
		}
	}
	if len(sums) != 2 {
		t.Errorf("%d sets of features are remembered, want one for each seed", len(sums))
	}
}

// Rows that are divided by their sums are so in every run of a data set, in its shards, and in what its run predicts; data sets of the other kind are refused.
func TestStandardizeRows(t *testing.T) {
	s := newSandbox(t)
	plain, scaled := newStore(), newStore()
	x := plain["x"].Data.([]float32)
	y := slices.Clone(x)
	for v := range 60 {
		sum := 0.0
		for _, a := range x[6*v:][:6] {
			sum += math.Abs(float64(a))
		}
		for i := range 6 {
			if sum > 0 {
				y[6*v+i] = float32(float64(x[6*v+i]) / sum)
			}
		}
	}
	scaled["x"] = npy.Entry{Shape: []int{60, 6}, Data: y}
	plain.write(s, "plain.npz")
	scaled.write(s, "scaled.npz")
	rows := []string{"--dataset", "plain.npz", "--standardize", "rows"}
	want := s.train(small("--dataset", "scaled.npz", "--run-dir", "scaled")...)
	if got := s.train(append(small("--run-dir", "rows"), rows...)...); got.SHA256 != want.SHA256 {
		t.Errorf("rows scaled by train give weights %s, before it %s", got.SHA256, want.SHA256)
	}
	for name, args := range map[string][]string{"by itself": nil, "another": {"--dataset", "plain.npz"}} {
		s.predict(append([]string{"--run", "rows", "--out", "a.npy"}, args...)...)
		s.predict("--run", "scaled", "--out", "b.npy")
		if a, b := s.Floats("a.npy", 60, 2), s.Floats("b.npy", 60, 2); !slices.Equal(a, b) {
			t.Errorf("%s: other logits", name)
		}
	}
	s.must(append([]string{"partition", "--machines", "1,1", "--shards", "cut", "--out", "cut.plan", "--quiet"}, rows...)...)
	s.must("partition", "--machines", "1,1", "--shards", "raw", "--out", "raw.plan", "--quiet", "--dataset", "plain.npz")
	s.predict("--run", "rows", "--dataset", "cut", "--out", "c.npy")
	near := func(a, b string) {
		t.Helper()
		want := s.Floats(b, 60, 2)
		for i, x := range s.Floats(a, 60, 2) {
			if math.Abs(float64(x-want[i])) > 1e-5 {
				t.Fatalf("logit %d is %g in %s, %g in %s", i, x, a, want[i], b)
			}
		}
	}
	near("c.npy", "a.npy")
	s.fails(term.ExitUsage, []string{"standardised otherwise"}, "predict", "--quiet", "--run", "rows", "--dataset", "raw", "--out", "d.npy")
	s.fails(term.ExitUsage, []string{"standardised otherwise"}, "predict", "--quiet", "--run", "scaled", "--dataset", "cut", "--out", "d.npy")
	s.train(small("--dataset", "cut", "--run-dir", "shards", "--devices", "cpu:0,cpu:1")...)
	s.predict("--run", "shards", "--dataset", "plain.npz", "--out", "e.npy")
	s.predict("--run", "shards", "--out", "f.npy")
	near("e.npy", "f.npy")
	s.fails(term.ExitUsage, []string{"--features degree", "--standardize rows"}, append(append([]string{"train", "--quiet", "--features", "degree"}, small()...), rows...)...)
}
