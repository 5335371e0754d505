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
	want := s.floats("run/logits.npy", 60, 2)
	same := func(got []float32) {
		t.Helper()
		for i, y := range got {
			// The rings are not connected, so the other one's absence changes nothing but rounding.
			if math.Abs(float64(y-want[i])) > 1e-5 {
				t.Fatalf("logit %d is %g, in the whole graph %g", i, y, want[i])
			}
		}
	}
	same(s.floats(s.predict("--run", "run", "--dataset", "half.npz").Out, 30, 2))

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
	// A run of an older version has no such file: its own data set is enough for that one.
	if err := os.Remove(s.path("run/standardize.npz")); err != nil {
		t.Fatal(err)
	}
	s.fails(term.ExitUsage, []string{"--run run", "mean and deviation", "train it again"}, "predict", "--quiet", "--run", "run", "--dataset", "half.npz")
	s.predict("--run", "run", "--out", "old.npy")
	same(s.floats("old.npy", 60, 2))
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
