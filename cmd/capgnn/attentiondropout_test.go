package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// However a run trains, dropout of attention changes what it learns, and repeats its bits, and resumed.
func TestAttentionDropout(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for i, model := range []string{"gat", "gatv2"} {
		for j, how := range []string{
			"", "--devices cpu:threads=1,cpu:threads=1 --parts 3", "--devices cpu:0,cpu:0 --halo-dtype int8 --staleness 8",
			"--devices cpu:0,cpu:0 --isolated=layers=all", "--isolated=chunks=4,phases=2,layers=all", "--batch-size 7 --epochs 4 --drop-features",
			"--devices cpu:0,cpu:0 --batch-size 7 --epochs 4",
		} {
			if !long.Nth(t, 4, 7*i+j) {
				continue
			}
			args := func(more ...string) []string {
				return slices.Concat(small("--model", model, "--hidden", "8", "--checkpoint-every", "2"), strings.Fields(how), more)
			}
			name := fmt.Sprint(model, " ", how)
			run := s.train(args("--attention-dropout", "0.4")...)
			if plain := s.train(args()...); plain.SHA256 == run.SHA256 {
				t.Errorf("%s: nothing is dropped", name)
			}
			again := s.train(args("--attention-dropout", "0.4")...)
			s.unfinished(again.RunDir)
			if r := s.train("--resume", again.RunDir); r.SHA256 != run.SHA256 || again.SHA256 != run.SHA256 {
				t.Errorf("%s: weights %s, again %s, resumed %s", name, run.SHA256, again.SHA256, r.SHA256)
			}
		}
	}
	if p := s.train(small("--model", "gat", "--attention-dropout", "0")...); p.SHA256 != s.train(small("--model", "gat")...).SHA256 {
		t.Error("--attention-dropout 0 has bits of its own")
	}
}

// Models without attention have none to drop.
func TestAttentionDropoutIsRefused(t *testing.T) {
	s := newSandbox(t)
	for _, x := range [][]string{{"has no attention", "--model", "gcn"}, {"is not in [0, 1)", "--model", "gat", "--attention-dropout", "1"}} {
		s.fails(term.ExitUsage, []string{"--attention-dropout", x[0]}, append([]string{"train", "--quiet", "--attention-dropout", "0.5"}, small(x[1:]...)...)...)
	}
}
