package main

import (
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// Weights whose tensors fit a run are refused where they were trained with other settings of the model, its graph or
// its
// features, also where these were changed in config.yaml.
func TestPredictOfAnotherModel(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	train := func(run string, flags ...string) {
		s.must(append([]string{"train", "--quiet", "--dataset", "ok.npz", "--hidden", "4", "--epochs", "1", "--run-dir", run},
			flags...)...)
	}
	for i, c := range []struct{ one, other, was string }{
		{"--model sgc --layers 2", "--model sgc --layers 5", "with train's --layers 5"},
		{"--model appnp --teleport 0.1", "--model appnp --teleport 0.9", "with train's --teleport 0.9"},
		{"--model gcnii --theta 0.5", "--model gcnii --theta 3", "with train's --theta 3"},
		{"--model gcn", "--model gcn --activation tanh", "with train's --activation tanh"},
		{"--model gcn --residual", "--model gcn", "without train's --residual"},
		{"--model gcn", "--model gcn --self-loops remove", "with train's --self-loops remove"},
		{"--model gcn", "--model gcn --standardize train", "with train's --standardize train"},
		{"--model gcn --edges directed", "--model gcn", "with train's --edges auto"},
	} {
		one, other := string(rune('a'+2*i)), string(rune('b'+2*i))
		train(one, strings.Fields(c.one)...)
		train(other, strings.Fields(c.other)...)
		s.fails(term.ExitUsage, []string{"they were trained " + c.was + ",", "give --run the run that they come from"},
			"predict", "--quiet", "--run", one, "--weights", other+"/model.safetensors", "--out", "x.npy")
		s.must("predict", "--quiet", "--run", one, "--weights", one+"/last.safetensors", "--out", one+".npy")
	}
	path := s.path("c/config.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), "teleport: 0.1", "teleport: 0.9", 1)
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fails(term.ExitUsage, []string{"one with train's --teleport 0.9", "with its config.yaml as it was"}, "predict", "--quiet", "--run", "c")
}
