package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// However a run trains, dropping features changes what it learns, repeats its bits, is resumed to them, and predicts with all of them.
func TestDropFeatures(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for i, model := range []string{"gcn", "sage", "gin", "gat", "gatv2"} {
		for j, how := range []string{
			"", "--devices cpu:threads=1,cpu:threads=1 --parts 3", "--devices cpu:0,cpu:0 --halo-dtype int8 --staleness 8", "--devices cpu:0,cpu:0 --halo-dtype int8", "--devices cpu:0,cpu:0 --isolated=layers=all",
			"--isolated=chunks=4,phases=2,layers=all", "--batch-size 7 --epochs 4",
		} {
			if !long.Nth(t, 9, 5*j+i) {
				continue
			}
			args := func(more ...string) []string {
				return slices.Concat(small("--model", model, "--hidden", "8", "--checkpoint-every", "2"), strings.Fields(how), more)
			}
			dir := fmt.Sprint(model, j)
			run := s.train(args("--drop-features", "--run-dir", dir)...)
			if plain := s.train(args()...); plain.SHA256 == run.SHA256 {
				t.Errorf("%s: nothing is dropped", dir)
			}
			again := s.train(args("--drop-features")...)
			s.unfinished(again.RunDir)
			if r := s.train("--resume", again.RunDir); r.SHA256 != run.SHA256 || again.SHA256 != run.SHA256 {
				t.Errorf("%s: weights %s, again %s, resumed %s", dir, run.SHA256, again.SHA256, r.SHA256)
			}
			whole := s.train(small("--model", model, "--hidden", "8", "--epochs", "0", "--init", s.path(dir+"/model.safetensors"))...) // drops nothing
			want := s.logits(whole.RunDir)
			for i, x := range s.logits(dir) {
				if !(math.Abs(float64(x-want[i])) <= 1e-4) {
					t.Fatalf("%s: logit %d is %g, without dropped features %g", dir, i, x, want[i])
				}
			}
		}
	}
}

// The last fan-out is not all where no sums over features are made once; what drops nothing, or always, is refused.
func TestDropFeaturesAreRefused(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train(small("--drop-features", "--batch-size", "8", "--epochs", "1", "--run-dir", "sampled")...)
	if text, err := os.ReadFile(s.path("sampled/config.yaml")); err != nil || !strings.Contains(string(text), "\nfanout: 15,10\n") || !strings.Contains(string(text), "\ndrop-features: true\n") {
		t.Errorf("%v, %s", err, text)
	}
	for _, x := range [][]string{
		{"drops nothing", "--model", "sgc"}, {"always drops", "--model", "appnp"}, {"always drops", "--model", "gcnii"}, {"with --dropout 0", "--dropout", "0"}, {"layers=all", "--isolated", "--devices", "cpu:0,cpu:0"},
	} {
		s.fails(term.ExitUsage, []string{"--drop-features", x[0]}, append([]string{"train", "--quiet", "--drop-features"}, small(x[1:]...)...)...)
	}
}
