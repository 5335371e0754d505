package main

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// With other activations models train and predict whole, in parts, stale, sampled, isolated and in phases; plans take them, weights say them, runs resume, and
// --activation relu is a run without the flag, weights and all.
func TestActivation(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for i, line := range []string{
		"--model gcn --parts 3 --halo-dtype int8 --staleness 8 --activation elu", "--model sage --parts 2 --storage bf16 --norm none --activation tanh", "--model gin --batch-size 20 --fanout 1,2,1 --parts 2 --activation leaky_relu",
		"--model gat --heads 2 --parts 2 --staleness 3,pipeline=off --activation elu", "--model gatv2 --heads 2 --parts 3 --activation tanh", "--model gcn --devices cpu:0 --isolated=layers=all,chunks=4,phases=1 --activation tanh",
		"--model sage --batch-size 30 --sampling hopgnn --parts 2 --activation elu", "--model appnp --parts 2 --activation leaky_relu", "--model gcnii --parts 2 --activation tanh",
	} {
		args := strings.Fields("--dataset ok.npz --layers 3 --hidden 4 --epochs 3 " + line)
		s.must(append([]string{"plan"}, args...)...)
		r := s.train(args...)
		if math.IsNaN(float64(r.FinalLoss)) || r.Test == nil {
			t.Errorf("%s: loss %v", line, r.FinalLoss)
		}
		what := [][]string{{"--what", "logits"}, {"--what", "embeddings", "--layer", "1"}}[i%2]
		s.must(append([]string{"predict", "--run", r.RunDir, "--quiet"}, what...)...)
		name := args[len(args)-1]
		text := readFile(t, s.path(r.RunDir)+"/config.yaml")
		if !strings.Contains(text, "activation: "+name) {
			t.Errorf("%s: config.yaml does not say %s:\n%s", line, name, text)
		}
		if raw := readFile(t, runfolder.Dir(s.path(r.RunDir)).Best()); !strings.Contains(raw[:min(len(raw), 4096)], `"activation":"`+name+`"`) {
			t.Errorf("%s: the weights do not say %s", line, name)
		}
	}
	s.fails(term.ExitUsage, []string{"--activation elu", "--model sgc"}, "train", "--dataset", "ok.npz", "--model", "sgc", "--activation", "elu")
	s.fails(term.ExitUsage, []string{"--activation", "gelu", "relu, leaky_relu, elu, tanh"}, "train", "--dataset", "ok.npz", "--activation", "gelu")

	base := strings.Fields("--dataset ok.npz --model gcn --layers 3 --hidden 4 --epochs 4 --checkpoint-every 1")
	train := func(name string, more ...string) *runfolder.Result {
		return s.train(append(append(slices.Clone(base), "--run-dir", name), more...)...)
	}
	plain, named, tanh := train("plain"), train("named", "--activation", "relu"), train("tanh", "--activation", "tanh")
	if plain.SHA256 != named.SHA256 || plain.SHA256 == tanh.SHA256 {
		t.Errorf("weights: without a flag %s, relu %s, tanh %s", plain.SHA256, named.SHA256, tanh.SHA256)
	}
	parts := train("parts", "--activation", "tanh", "--devices", progtest.CPUs(2))
	ranks := readResultLine(t, s.must(append([]string{"launch", "-n", "2", "--quiet", "--json", "--", "train", "--devices", progtest.CPUs(1), "--run-dir", "ranks", "--activation", "tanh"}, base...)...))
	if ranks.SHA256 != parts.SHA256 {
		t.Errorf("weights of two processes %s, of two parts in one %s", ranks.SHA256, parts.SHA256)
	}
	s.unfinished("tanh")
	if r := s.train("--resume", "tanh"); r.SHA256 != tanh.SHA256 {
		t.Errorf("resumed: weights %s, want %s", r.SHA256, tanh.SHA256)
	}
	if r := train("init", "--init", s.path("tanh/last.safetensors"), "--activation", "elu", "--epochs", "0"); r.SHA256 != tanh.SHA256 {
		t.Errorf("weights of 0 epochs %s, those that they start from %s", r.SHA256, tanh.SHA256)
	}
	s.fails(term.ExitUsage, []string{"--weights", "trained with train's --activation tanh", "one with train's --activation elu"}, "predict", "--run", "init", "--weights", "tanh/last.safetensors")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
