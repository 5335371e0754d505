package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// With a schedule every line of metrics has the rate of its epoch, however a run trains; resumed runs go on with it, to the bit.
func TestSchedule(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	rates := func(dir string) (all []float64) {
		for _, line := range metricsOf(t, s.path(dir)) {
			all = append(all, line["lr"].(float64))
		}
		return all
	}
	for name, more := range map[string][]string{
		"one": nil, "parts": {"--devices", "cpu:0,cpu:0"}, "stale": {"--devices", "cpu:0,cpu:0", "--halo-dtype", "int8", "--staleness", "8"},
		"isolated": {"--devices", "cpu:0,cpu:0", "--isolated"}, "phases": {"--devices", "cpu:0", "--isolated=chunks=4,phases=1"}, "sampled": {"--batch-size", "8", "--fanout", "3,3"},
	} {
		s.train(append(small("--run-dir", name, "--schedule", "cosine,warmup=3", "--lr", "0.04", "--hidden", "8"), more...)...)
		got := rates(name)
		if len(got) != 12 {
			t.Fatalf("%s: rates %v", name, got)
		}
		for epoch, rate := range got {
			want := 0.04 * float64(epoch+1) / 4
			if epoch >= 3 {
				want = 0.02 * (1 + math.Cos(math.Pi*float64(epoch-3)/9))
			}
			if math.Abs(rate-want) > 1e-12 {
				t.Errorf("%s: rate %v in epoch %d, want %v", name, rate, epoch, want)
			}
		}
	}
	plateau := small("--schedule", "plateau,patience=1,factor=0.5", "--eval-every", "1", "--checkpoint-every", "1", "--lr", "0.5")
	whole := s.train(append(plateau, "--run-dir", "whole")...)
	if all := rates("whole"); all[0] == all[11] {
		t.Fatalf("the rate stays %v", all[0])
	}
	s.train(append(plateau, "--run-dir", "again")...)
	for _, name := range []string{"result.json", "last.safetensors"} {
		if err := os.Remove(s.path("again/" + name)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // as if killed before the last two
		newestCheckpointGone(t, s.path("again"))
		if r := s.train("--resume", "again"); r.SHA256 != whole.SHA256 {
			t.Errorf("resumed: other weights")
		}
		if err := os.Remove(s.path("again/result.json")); err != nil {
			t.Fatal(err)
		}
	}
	s.fails(term.ExitUsage, []string{"--schedule", "warmup=12", "--epochs 12"}, append([]string{"train", "--quiet"}, small("--schedule", "cosine,warmup=12")...)...)
	s.fails(term.ExitUsage, []string{"--schedule plateau", "validation"}, append([]string{"train", "--quiet"}, small("--schedule", "plateau,patience=1", "--eval-every", "1", "--split", "0.9,0,0.1")...)...)
	s.train(small("--run-dir", "plain")...)
	text, err := os.ReadFile(s.path("plain/metrics.jsonl"))
	if err != nil || strings.Contains(string(text), `"lr"`) {
		t.Errorf("%v, %s", err, text)
	}
}

// newestCheckpointGone removes the newest checkpoint of a run.
func newestCheckpointGone(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir + "/checkpoint")
	if err != nil || len(entries) < 2 {
		t.Fatalf("%d checkpoints, %v", len(entries), err)
	}
	if err := os.Remove(dir + "/checkpoint/" + entries[len(entries)-1].Name()); err != nil {
		t.Fatal(err)
	}
}

// unfinished leaves of a run that has ended what one leaves that is killed behind its last checkpoint but one.
func (s *sandbox) unfinished(run string) {
	s.T.Helper()
	newestCheckpointGone(s.T, s.path(run))
	if err := os.Remove(s.path(run + "/result.json")); err != nil {
		s.T.Fatal(err)
	}
}
