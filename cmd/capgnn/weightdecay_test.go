package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/internal/long"
)

// A step of SGD takes rate · decay · weight from the weights of a group, and from others only what --weight-decay says of all, however a run trains.
func TestWeightDecayOfGroups(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	weights := func(name string, more ...string) gnn.StateDict {
		t.Helper()
		s.train(append(small("--run-dir", name, "--epochs", "1", "--optimizer", "sgd", "--lr", "0.5", "--layers", "3"), more...)...)
		w, err := gnn.ReadStateDict(s.path(name + "/last.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	started := weights("start", "--epochs", "0")
	for name, how := range map[string][]string{
		"one": nil, "devices": {"--devices", "cpu:threads=1,cpu:threads=1", "--parts", "3"}, "stale": {"--devices", "cpu:0,cpu:0", "--halo-dtype", "int8", "--staleness", "8"},
		"isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "phases": {"--isolated=chunks=4,phases=4"}, "sampled": {"--batch-size", "100", "--fanout", "2,2,2"},
	} {
		without, with := weights(name, how...), weights(name+"-with", append(how, "--weight-decay", "0.25,convs=0.5,convs.1.bias=0,norms.0=0.125")...)
		for tensor, start := range started {
			decay := 0.25
			switch {
			case tensor == "convs.1.bias":
				decay = 0
			case strings.HasPrefix(tensor, "convs."):
				decay = 0.5
			case strings.HasPrefix(tensor, "norms.0."):
				decay = 0.125
			}
			for k, x := range start.Data {
				got, want := float64(without[tensor].Data[k]-with[tensor].Data[k]), 0.5*decay*float64(x)
				if !(math.Abs(got-want) <= 1e-6) {
					t.Fatalf("%s: element %d of %s: %g is taken, want %g", name, k, tensor, got, want)
				}
			}
		}
	}
}

// Groups that say what all weights have change no bit, of any rule; other ones do. A run keeps them in config.yaml, is resumed with them, and refuses others.
func TestWeightDecayGroupsAreKept(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, rule := range []string{"adam", "adamw", "sgd"} {
		train := func(decay string, more ...string) string {
			t.Helper()
			return s.train(append(small("--model", "gcnii", "--optimizer", rule, "--weight-decay", decay, "--checkpoint-every", "4"), more...)...).SHA256
		}
		same, groups := train("0.0625"), train("0.0625,convs=0.03125", "--run-dir", rule)
		if x := train("lins=0.0625,weight1=0.0625"); x != same {
			t.Errorf("%s: weights %s with groups, %s without", rule, x, same)
		}
		if x := train("weight1=0.03125,lins=0.0625", "--devices", "cpu:threads=1"); x != groups || x == same {
			t.Errorf("%s: weights %s, of groups in another order %s, without groups %s", rule, x, groups, same)
		}
		if rule != "adamw" && !long.Wanted() {
			continue
		}
		again := s.train(small("--run-dir", rule+"-again", "--model", "gcnii", "--optimizer", rule, "--weight-decay", "0.0625,convs=0.03125", "--checkpoint-every", "4")...)
		s.unfinished(again.RunDir)
		if x := s.train("--resume", again.RunDir); x.SHA256 != groups {
			t.Errorf("%s: weights %s when resumed, want %s", rule, x.SHA256, groups)
		}
		if text, err := os.ReadFile(s.path(rule + "/config.yaml")); err != nil || !strings.Contains(string(text), "\nweight-decay: 0.0625,convs=0.03125\n") {
			t.Errorf("%s: %v, %s", rule, err, text)
		}
		s.fails(term.ExitUsage, []string{"weight-decay"}, "train", "--quiet", "--resume", rule, "--weight-decay", "0.0625")
	}
	for text, want := range map[string]string{
		"lin=1": "convs, convs.0 to convs.1, weight1", "convs.2=1": `"convs.2"`, "lins=-1": "lins=-1", "lins=NaN": "lins=NaN", "convs=1,lins=1e7": "lins=1e+07", "x": "such as lins=5e-4", "lins=x": `"x" is not a number`,
		"lins=1,2": "comes first", "lins=1,bias": "such as lins=5e-4", "lins=1,lins=2": "lins is there twice", "=1": "such as lins", "": "is empty", "1,": "such as lins", "lins.=1": "such as lins", "-1": "--weight-decay -1", "lins=1e400": "not a number",
	} {
		s.fails(term.ExitUsage, []string{"--weight-decay", want}, append([]string{"train", "--quiet"}, small("--model", "gcnii", "--weight-decay", text)...)...)
	}
}
