package main

import (
	"math"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// added are the models without LayerNorm.
var added = []string{"sgc", "appnp", "gcnii", "gprgnn"}

// Models train and predict one layer or many, widths of 1, α of 0 and 1, in more parts than sense, stale, sampled with small fan-outs and isolated; a plan and a prediction take them, too.
func TestAddedModels(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for k, model := range added {
		for i, line := range []string{
			"--layers 1 --hidden 1", "--layers 3 --hidden 5 --parts 3 --teleport 0 --theta 0", "--layers 2 --hidden 4 --parts 7 --teleport 1",
			"--layers 3 --hidden 4 --parts 2 --staleness 3,pipeline=off", "--layers 2 --hidden 4 --parts 3 --halo-dtype int8 --staleness 8", "--layers 3 --hidden 4 --parts 3 --prune 0.5",
			"--layers 3 --hidden 4 --batch-size 20 --fanout 1,2,1 --parts 2", "--layers 2 --hidden 4 --batch-size 30 --sampling hopgnn --parts 2",
			"--layers 2 --hidden 4 --devices cpu:0,cpu:0 --isolated=layers=all", "--layers 2 --hidden 4 --devices cpu:0 --isolated=layers=all,chunks=4,phases=1",
			"--layers 64 --hidden 2",
		} {
			if (i+k)%len(added) > 0 && !strings.Contains(line, "--teleport") && !long.Wanted() {
				continue
			}
			args := strings.Fields("--dataset ok.npz --model " + model + " --epochs 3 " + line)
			if i%4 == 1 {
				s.must(append([]string{"plan"}, args...)...)
			}
			r := s.train(args...)
			if math.IsNaN(float64(r.FinalLoss)) || r.Test == nil {
				t.Errorf("%s %s: loss %v", model, line, r.FinalLoss)
			}
			if i%4 == 1 {
				s.must("predict", "--run", r.RunDir, "--what", "logits", "--quiet")
			}
		}
	}
}

// What the models do not go with is refused before anything is read.
func TestAddedModelsRefuse(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for _, model := range added {
		s.fails(term.ExitUsage, []string{"--storage bf16", "--model " + model}, "train", "--dataset", "ok.npz", "--model", model, "--storage", "bf16")
	}
	for _, model := range added[1:] {
		s.fails(term.ExitUsage, []string{"--isolated", "layers=all", "--model " + model}, "train", "--dataset", "ok.npz", "--model", model, "--isolated")
		for _, share := range []string{"-0.1", "1.5", "nan"} {
			s.fails(term.ExitUsage, []string{"--teleport "}, "train", "--dataset", "ok.npz", "--model", model, "--teleport", share)
		}
	}
	s.fails(term.ExitUsage, []string{"theta -1"}, "train", "--dataset", "ok.npz", "--model", "gcnii", "--theta", "-1")
}
