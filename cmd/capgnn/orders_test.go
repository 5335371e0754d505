package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
)

// The community order gives the same training to rounding, is recorded, and gives equal bits when the run is repeated.
func TestOrder(t *testing.T) {
	s := newSandbox(t)
	data := "ok.npz"
	newStore().write(s, data)
	args := func(order string, more ...string) []string {
		return append([]string{"--dataset", data, "--epochs", "4", "--devices", "cpu:threads=1,cpu:threads=1", "--order", order}, more...)
	}
	plain := s.train(args(runfolder.OrderNone, "--run-dir", s.path("none"))...)
	r := s.train(args(runfolder.OrderCommunity, "--run-dir", s.path("run"))...)
	if r.Order != runfolder.OrderCommunity || r.SHA256 == plain.SHA256 {
		t.Errorf("the result says %q; weights equal to those without: %t", r.Order, r.SHA256 == plain.SHA256)
	}
	if d := math.Abs(float64(r.FinalLoss)/float64(plain.FinalLoss) - 1); d > 1e-4 { // as docs/determinism.md allows the loss
		t.Errorf("loss %v, without %v", r.FinalLoss, plain.FinalLoss)
	}
	if again := s.train("--config", s.path("run")+"/config.yaml", "--run-dir", s.path("again")); again.SHA256 != r.SHA256 {
		t.Errorf("the repeated run has other weights")
	}
	if r := s.train(args(runfolder.OrderAuto)...); r.Order != runfolder.OrderNone || r.SHA256 != plain.SHA256 {
		t.Errorf("auto on a graph that fits a cache: order %q", r.Order)
	}
}

// A prediction of the run's data takes its order, which is found again where it is not cached; one of other data takes none.
func TestOrderOfPrediction(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	newStore().write(s, "other.npz")
	s.train("--dataset", "ok.npz", "--epochs", "2", "--order", runfolder.OrderCommunity, "--run-dir", "run")
	cached := func() (files []string) {
		files, err := filepath.Glob(s.path("cache/capgnn/rank-*.npy"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	predicted := func(args ...string) []float32 {
		for _, file := range cached() {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		return s.Floats(s.predict(append([]string{"--run", "run"}, args...)...).Out, 60, 2)
	}
	own := predicted()
	if len(cached()) != 1 {
		t.Errorf("a prediction of the run's data has cached %d orders", len(cached()))
	}
	other := predicted("--dataset", "other.npz")
	if len(cached()) != 0 {
		t.Error("a prediction of other data has made an order")
	}
	for i, x := range own { // sums of fewer than 20 terms of size about 1, in two orders: some 20·2⁻²⁴
		if math.Abs(float64(x-other[i])) > 1e-5 {
			t.Fatalf("logit %d is %g in the run's order, %g without", i, x, other[i])
		}
	}
}

// Storage in BF16 trains, is recorded, and is refused where it cannot be had.
func TestStorageFlag(t *testing.T) {
	s := newSandbox(t)
	data := "ok.npz"
	newStore().write(s, data)
	r := s.train("--dataset", data, "--epochs", "1", "--storage", "bf16", "--model", "sage")
	exact := s.train("--dataset", data, "--epochs", "1", "--model", "sage")
	if r.Storage != "bf16" || r.SHA256 == exact.SHA256 {
		t.Errorf("storage %q, weights equal to fp32's: %t", r.Storage, r.SHA256 == exact.SHA256)
	}
	const bound = 3.0 / 512 // one rounding per layer, before the first update
	if d := math.Abs(float64(r.FinalLoss)/float64(exact.FinalLoss) - 1); d > bound {
		t.Errorf("loss %v, in fp32 %v", r.FinalLoss, exact.FinalLoss)
	}
	for _, bad := range [][]string{{"--storage", "fp16"}, {"--storage", "bf16", "--model", "gat"}, {"--order", "rabbit"}} {
		_, stderr, code := s.run(append([]string{"train", "--dataset", data}, bad...)...)
		if code != 2 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d, %q", bad, code, stderr)
		}
	}
}
