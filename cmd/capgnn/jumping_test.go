package main

import (
	"bytes"
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

// jumpingRuns are runs with jumping knowledge: whole, in parts, stale, sampled, isolated and in phases.
var jumpingRuns = []string{
	"--model gcn --parts 3 --halo-dtype int8 --staleness 8", "--model sage --parts 2 --storage bf16", "--model gin --batch-size 20 --fanout 1,2,1 --parts 2", "--model gat --heads 2 --parts 2 --staleness 3,pipeline=off",
	"--model gatv2 --heads 2 --parts 3 --layers 1", "--model gcn --devices cpu:0 --isolated=layers=all,chunks=4,phases=1", "--model sage --batch-size 30 --sampling hopgnn --parts 2 --norm none",
	"--model gcn --batch-size 20 --sampling rapidgnn --parts 2 --storage bf16", "--model gat --heads 2 --isolated=layers=inner,chunks=3 --devices cpu:0,threads=1,cpu:1,threads=1,cpu:2,threads=1", "--model gcn --devices cpu:0 --parts 3",
}

// With jumping knowledge the logits are a Linear of the rows that layers make, which predict writes as embeddings, side by side; runs repeat by their config.yaml,
// weights files say what they are of, and plans take them.
func TestJumping(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for i, line := range long.Few(t, jumpingRuns, 4) {
		layers := 3
		if strings.Contains(line, "--layers 1") {
			layers = 1
		}
		args := strings.Fields("--dataset ok.npz --jk cat --layers 3 --hidden 4 --epochs 3 " + line)
		s.must(append([]string{"plan"}, args...)...)
		r := s.train(args...)
		if math.IsNaN(float64(r.FinalLoss)) || r.Test == nil {
			t.Errorf("%s: loss %v", line, r.FinalLoss)
		}
		if i%3 == 0 {
			if again := s.train("--config", r.RunDir+"/config.yaml"); again.SHA256 != r.SHA256 {
				t.Errorf("%s: its config.yaml repeats another run", line)
			}
		}
		dir := runfolder.Dir(s.path(r.RunDir))
		if file, err := os.ReadFile(dir.Best()); err != nil || !bytes.Contains(file, []byte(`"jk":"cat"`)) {
			t.Errorf("%s: the weights file says nothing of --jk (%v)", line, err)
		}
		w, err := gnn.ReadStateDict(dir.Best())
		if err != nil {
			t.Fatal(err)
		}
		weight, want := w["lin.weight"].Data, make([]float64, 2*60)
		for v := range 60 {
			for c, b := range w["lin.bias"].Data {
				want[2*v+c] = float64(b)
			}
		}
		for l := range layers {
			s.must("predict", "--run", r.RunDir, "--what", "embeddings", "--layer", string(rune('0'+l)), "--out", "rows.npy", "--quiet")
			rows := s.Floats("rows.npy", 60, 4)
			for v := range 60 {
				for c := range 2 {
					for j := range 4 {
						want[2*v+c] += float64(rows[4*v+j]) * float64(weight[(c*layers+l)*4+j])
					}
				}
			}
		}
		rounding := 1e-4
		if strings.Contains(line, "bf16") { // logits and rows may be made in other orders, and rows are rounded to 8 bits
			rounding = 1.0 / (1 << 8)
		}
		for k, x := range s.logits(r.RunDir) {
			if !(math.Abs(float64(x)-want[k]) <= rounding) {
				t.Fatalf("%s: logit %d is %g, want %g of the rows", line, k, x, want[k])
			}
		}
	}
}

// Runs with jumping knowledge are resumed, start from its weights alone, and give the same bits over several ranks. Models without it are refused.
func TestJumpingResumes(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := func(more ...string) []string {
		return append(strings.Fields("--dataset ok.npz --jk cat --hidden 4 --devices "+progtest.CPUs(2)), more...)
	}
	for i, line := range long.Some(t, []string{"--model gin", "--model gat --heads 2 --batch-size 20", "--model sage --batch-size 20 --storage bf16"}, 1, "--model gin") {
		dir := string(rune('a' + i))
		want := s.train(args(append(strings.Fields(line), "--epochs", "6", "--checkpoint-every", "2", "--run-dir", dir)...)...)
		s.unfinished(dir)
		if got := s.train("--resume", dir); got.SHA256 != want.SHA256 || got.Epochs != 6 {
			t.Errorf("%s: %d epochs after resuming, with other weights than those of a whole run", line, got.Epochs)
		}
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(strings.Fields("--dataset ok.npz --jk cat --hidden 4 --epochs 6 --json --quiet --run-dir ranks-"+dir+" --devices "+progtest.CPUs(1)), strings.Fields(line)...)}
		for rank, e := range run.Over(2) {
			if e.Code != 0 {
				t.Fatalf("%s: rank %d: exit code %d\n%s", line, rank, e.Code, e.Err)
			}
			if rank == 0 && readResultLine(t, e.Out).SHA256 != want.SHA256 {
				t.Errorf("%s: other weights over two ranks", line)
			}
		}
		if predicted := (progtest.RankRun{Sandbox: s.Sandbox, Verb: "predict", Args: strings.Fields("--run ranks-" + dir + " --out ranks.npy --quiet --devices " + progtest.CPUs(1))}).Over(2); predicted[0].Code != 0 {
			t.Errorf("%s: predict over ranks: %s", line, predicted[0].Err)
		}
		over, within := s.Floats("ranks.npy", 60, 2), 1e-5
		if strings.Contains(line, "bf16") { // over ranks predict goes through whole parts, in another order of operations
			within = 1.0 / (1 << 8)
		}
		for k, x := range s.logits("ranks-" + dir) {
			if far := math.Abs(float64(x - over[k])); far > within {
				t.Fatalf("%s: logits over two ranks are %g away", line, far)
			}
		}
	}
	if r := s.train(args("--model", "gin", "--init", "a/last.safetensors", "--epochs", "0")...); r.SHA256 != s.train("--resume", "a").SHA256 {
		t.Error("other weights than those of --init")
	}
	s.fails(term.ExitUsage, []string{"--init", `"lin.weight`, "is missin"}, append([]string{"train", "--quiet", "--init", s.train(strings.Fields("--dataset ok.npz --hidden 4 --epochs 1")...).RunDir + "/last.safetensors"}, args()...)...)
	for _, model := range []string{"sgc", "appnp", "gcnii"} {
		s.fails(term.ExitUsage, []string{"--jk cat", "--model " + model}, "train", "--dataset", "ok.npz", "--model", model, "--jk", "cat")
	}
	s.fails(term.ExitUsage, []string{"--jk", "lstm", "none, cat, max, sum"}, "train", "--dataset", "ok.npz", "--jk", "lstm")
}
