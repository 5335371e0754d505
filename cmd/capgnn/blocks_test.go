package main

import (
	"math"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
)

// Without LayerNorm models train and predict whole, in parts, stale, sampled, isolated and in phases; plans take them, and weights
// files have the names of torch_geometric's models with norm=None.
func TestNoNorm(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for i, line := range []string{
		"--model gcn --parts 3 --comm auto", "--model sage --parts 2 --storage bf16", "--model gin --batch-size 20 --fanout 1,2,1 --parts 2", "--model gat --heads 2 --parts 2 --staleness 3 --pipeline off",
		"--model gatv2 --heads 2 --parts 3", "--model gcn --devices cpu:0 --isolated=layers=all,chunks=4,phases=1", "--model sage --batch-size 30 --sampling hopgnn --parts 2 --no-fuse", "--model sgc",
	} {
		args := strings.Fields("--dataset ok.npz --norm none --layers 3 --hidden 4 --epochs 3 " + line)
		s.must(append([]string{"plan"}, args...)...)
		r := s.train(args...)
		if math.IsNaN(float64(r.FinalLoss)) || r.Test == nil {
			t.Errorf("%s: loss %v", line, r.FinalLoss)
		}
		what := [][]string{{"--what", "logits"}, {"--what", "embeddings", "--layer", "1"}}[i%2]
		if line != "--model sgc" {
			s.must(append([]string{"predict", "--run", r.RunDir, "--quiet"}, what...)...)
		}
		w, err := gnn.ReadStateDict(runfolder.Dir(s.path(r.RunDir)).Best())
		if err != nil {
			t.Fatal(err)
		}
		for name := range w {
			if strings.HasPrefix(name, "norms.") {
				t.Errorf("%s: weights %s", line, name)
			}
		}
	}
	for _, model := range added {
		s.fails(term.ExitUsage, []string{"--norm layer", "--model " + model}, "train", "--dataset", "ok.npz", "--model", model, "--norm", "layer")
	}
	s.fails(term.ExitUsage, []string{"--norm", "batch", "layer, none"}, "train", "--dataset", "ok.npz", "--norm", "batch")
}
