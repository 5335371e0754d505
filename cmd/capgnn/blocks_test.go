package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/internal/long"
)

// Without LayerNorm models train and predict whole, in parts, stale, sampled, isolated and in phases; plans take them, and weights
// files have the names of torch_geometric's models with norm=None.
func TestNoNorm(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for i, line := range []string{
		"--model gcn --parts 3 --halo-dtype int8 --staleness 8", "--model sage --parts 2 --storage bf16", "--model gin --batch-size 20 --fanout 1,2,1 --parts 2", "--model gat --heads 2 --parts 2 --staleness 3,pipeline=off",
		"--model gatv2 --heads 2 --parts 3", "--model gcn --devices cpu:0 --isolated=layers=all,chunks=4,phases=1", "--model sage --batch-size 30 --sampling hopgnn --parts 2", "--model sgc",
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
	s.fails(term.ExitUsage, []string{"--norm", "group", "layer, batch, graph, none"}, "train", "--dataset", "ok.npz", "--norm", "group")
}

// With --norm batch models train and predict whole, in parts, stale, sampled and isolated, and files of weights have
// the names of
// torch_geometric's models with norm="batch_norm".
func TestBatchNorm(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for i, line := range long.Some(t, []string{
		"--model gcn --parts 3 --halo-dtype int8 --staleness 8", "--model sage --parts 2 --storage bf16", "--model gin --parts 2 --residual --storage bf16",
		"--model gat --heads 2 --parts 2 --staleness 3,pipeline=off", "--model gatv2 --heads 2 --parts 3 --jk cat", "--model gin --batch-size 20 --fanout 1,2,1 --parts 2", "--model gcn --isolated=chunks=4,layers=all", "--model sage --isolated=chunks=4,phases=1,layers=all --devices cpu:0 --batch-size 16", "--model mixhop", "--model dirgnn --hidden 1",
	}, 5) {
		args := strings.Fields("--dataset ok.npz --norm batch --layers 3 --hidden 4 --epochs 3 " + line)
		s.must(append([]string{"plan"}, args...)...)
		r := s.train(args...)
		if math.IsNaN(float64(r.FinalLoss)) || r.Test == nil {
			t.Errorf("%s: loss %v", line, r.FinalLoss)
		}
		what := [][]string{{"--what", "logits"}, {"--what", "embeddings", "--layer", "1"}}[i%2]
		s.must(append([]string{"predict", "--run", r.RunDir, "--quiet"}, what...)...)
		w, err := gnn.ReadStateDict(runfolder.Dir(s.path(r.RunDir)).Best())
		if err != nil {
			t.Fatal(err)
		}
		if w["norms.1.module.running_var"] == nil || w["norms.1.weight"] != nil {
			t.Errorf("%s: no running statistics, or a LayerNorm", line)
		}
	}
	s.fails(term.ExitUsage, []string{"drop --sampling hopgnn"}, "train", "--dataset", "ok.npz", "--norm", "batch", "--batch-size", "20", "--parts", "2", "--sampling", "hopgnn")
	for _, model := range added {
		s.fails(term.ExitUsage, []string{"--norm batch", "--model " + model}, "train", "--dataset", "ok.npz", "--model", model, "--norm", "batch")
	}
}

// With --residual models train and predict whole, in parts, stale, sampled, isolated, in phases and over ranks; plans take it, files of runs and weights say it, and
// weights of a run without it are a start. What has no layer that could add is refused.
func TestResidual(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	lines := []string{
		"--model gcn --parts 3 --halo-dtype int8 --staleness 8", "--model sage --parts 2 --storage bf16", "--model gin --batch-size 20 --fanout 1,2,1,1 --parts 2", "--model gat --heads 2 --parts 2 --staleness 3,pipeline=off",
		"--model gatv2 --heads 2 --parts 3 --norm none", "--model gcn --devices cpu:0 --isolated=layers=all,chunks=4,phases=1", "--model sage --batch-size 30 --sampling hopgnn --parts 2", "--model gcn --isolated=chunks=4,layers=all",
	}
	for i, line := range long.Some(t, lines, 3, lines[0]) {
		args := strings.Fields("--dataset ok.npz --layers 4 --hidden 4 --epochs 3 " + line)
		without := s.train(args...)
		args = append(args, "--residual")
		s.must(append([]string{"plan"}, args...)...)
		r := s.train(args...)
		if math.IsNaN(float64(r.FinalLoss)) || r.Test == nil || r.FinalLoss == without.FinalLoss {
			t.Errorf("%s: loss %v, without residuals %v", line, r.FinalLoss, without.FinalLoss)
		}
		what := [][]string{{"--what", "logits"}, {"--what", "embeddings", "--layer", "1"}}[i%2]
		s.must(append([]string{"predict", "--run", r.RunDir, "--quiet"}, what...)...)
		for _, run := range []struct {
			dir  string
			says bool
		}{{r.RunDir, true}, {without.RunDir, false}} {
			dir := runfolder.Dir(s.path(run.dir))
			for _, file := range []string{dir.Best(), dir.Config()} {
				data, err := os.ReadFile(file)
				if err != nil || strings.Contains(strings.ReplaceAll(string(data), "residual: false", ""), "residual") != run.says {
					t.Errorf("%s: %s says that there are residuals: %t, want %t (%v)", line, file, !run.says, run.says, err)
				}
			}
		}
		if i == 0 {
			s.must("train", "--dataset", "ok.npz", "--layers", "4", "--hidden", "4", "--epochs", "1", "--residual", "--init", runfolder.Dir(without.RunDir).Best())
			s.fails(term.ExitUsage, []string{"--residual"}, "train", "--resume", without.RunDir, "--residual")
			s.fails(term.ExitUsage, []string{"--weights", "trained without train's --residual"}, "predict", "--run", r.RunDir, "--weights", runfolder.Dir(without.RunDir).Best())
			s.fails(term.ExitUsage, []string{"--weights", "trained with train's --residual"}, "predict", "--run", without.RunDir, "--weights", runfolder.Dir(r.RunDir).Best())
		}
	}
	args := strings.Fields("--dataset ok.npz --hidden 8 --epochs 4 --model sage --residual")
	want := s.train(append(args, "--devices", progtest.CPUs(3))...)
	devices := []int{1, 2}
	for rank, e := range (progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--quiet", "--json", "--run-dir", "ranks"), Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(devices[rank])} }}).Over(2) {
		if e.Code != 0 || rank == 0 && readResultLine(t, e.Out).SHA256 != want.SHA256 {
			t.Errorf("rank %d: exit code %d, other weights than those of one process\n%s%s", rank, e.Code, e.Out, e.Err)
		}
	}
	for _, model := range added {
		s.fails(term.ExitUsage, []string{"--residual", "--model " + model}, "train", "--dataset", "ok.npz", "--model", model, "--residual")
	}
	for _, layers := range []string{"1", "2"} {
		s.fails(term.ExitUsage, []string{"--residual", "--layers " + layers}, "train", "--dataset", "ok.npz", "--layers", layers, "--residual")
	}
}
