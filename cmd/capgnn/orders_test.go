package main

import (
	"math"
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
