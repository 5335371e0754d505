package main

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/long"
)

// A finished run that is resumed with more epochs goes on, to the weights, the scores and the best weights of a run that had them from the
// start; where a schedule over all epochs forbids that, a note says so.
func TestResumeForMoreEpochs(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	cases := map[string]struct {
		flags string
		note  string // why weights are others; "": they are not
	}{
		"full-batch":      {"--parts 2 --schedule constant,warmup=3", ""},
		"stale":           {"--parts 3 --staleness 2,exact=4 --halo-dtype int8 --staleness layers=wide", ""},
		"encoded":         {"--parts 3 --halo-dtype int8", ""},
		"sampled":         {"--batch-size 16 --parts 2", ""},
		"steps":           {"--schedule step,every=4", ""},
		"patience":        {"--patience 1 --eval-every 1 --lr 1", ""},
		"cosine":          {"--schedule cosine", "--schedule cosine went over 10 epochs so far"},
		"thirds":          {"--schedule step", "--schedule step went over 10 epochs so far"},
		"fresh":           {"--parts 3 --staleness 2", "--staleness exact auto was 1 epoch"},
		"isolated":        {"--parts 4 --isolated", "isolated parts took turns over 10 epochs so far"},
		"one more":        {"--eval-every 3 --patience 9", "one evaluation more, behind epoch 10, counts for the best weights, --patience"},
		"only at its end": {"--eval-every 0", "the evaluation after epoch 10 counts for the best weights"},
	}
	for _, name := range long.Some(t, slices.Sorted(maps.Keys(cases)), 5, "full-batch") {
		tc := cases[name]
		t.Run(name, func(t *testing.T) {
			s := sandboxIn(t, s.Dir)
			args := append([]string{"train", "--json", "--dataset", "ok.npz", "--hidden", "8"}, strings.Fields(tc.flags)...)
			dir := strings.ReplaceAll(name, " ", "-")
			s.must(append(args, "--epochs", "10", "--run-dir", dir)...)
			stdout, stderr, code := s.run("train", "--json", "--resume", dir, "--epochs", "20")
			if code != 0 || tc.note == "" && strings.Contains(stderr, "not as a run of 20") || !strings.Contains(stderr, tc.note) {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			got := readResultLine(t, stdout)
			if again := s.train("--resume", dir); again.SHA256 != got.SHA256 || again.Epochs != got.Epochs {
				t.Errorf("resumed once more: %d epochs, weights %s, before %d, %s", again.Epochs, again.SHA256, got.Epochs, got.SHA256)
			}
			if tc.note != "" {
				if n := len(metricsOf(t, s.path(dir))); n != 20 || got.Epochs != 20 {
					t.Errorf("%d epochs, %d in the metrics, want 20", got.Epochs, n)
				}
				if !strings.Contains(stderr, "the same weights at its end") {
					return
				}
			}
			want := readResultLine(t, s.must(append(args, "--epochs", "20", "--run-dir", dir+"-whole")...))
			if tc.note != "" && got.SHA256 == want.SHA256 {
				return
			}
			if got.SHA256 != want.SHA256 || got.Epochs != want.Epochs || *got.BestEpoch != *want.BestEpoch {
				t.Errorf("%d epochs, best %d, weights %s; of a run that had them at once %d, %d, %s", got.Epochs, *got.BestEpoch, got.SHA256, want.Epochs, *want.BestEpoch, want.SHA256)
			}
			a, err := os.ReadFile(s.path(dir + "/model.safetensors"))
			b, err2 := os.ReadFile(s.path(dir + "-whole/model.safetensors"))
			if err != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Errorf("the best weights differ: %v, %v", err, err2)
			}
		})
	}
	s.must("train", "--config", "full-batch/config.yaml", "--run-dir", "repeated", "--epochs", "5", "--quiet") // of which fewer epochs than 10 were planned
	// What a finished run was, its folder still says where its config.yaml says something else, or another run keeps less of it.
	text, err := os.ReadFile(s.path("repeated/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.put("repeated/config.yaml", bytes.Replace(text, []byte("\ndropout: 0.5"), []byte("\ndropout: 0.2"), 1))
	if _, said, _ := s.run("train", "--resume", "repeated"); !strings.Contains(said, "note: repeated/config.yaml was edited after the run (--dropout is 0.2, and was 0.5)") {
		t.Errorf("of an edited run --resume says %q", said)
	}
	_, said, _ := s.run("train", "--config", "full-batch/config.yaml", "--devices", "cpu", "--run-dir", "on-one", "--epochs", "4")
	if !strings.Contains(said, "its 2 parts are not kept beside other devices, where each device has one: --parts 2 keeps them") {
		t.Errorf("of parts that --devices drops train says %q", said)
	}
	s.fails(2, []string{"--resume full-batch --epochs 19: it is of 20 epochs: give more, or drop --epochs"}, "train", "--resume", "full-batch", "--epochs", "19")
	s.fails(2, []string{"--epochs 9999999999"}, "train", "--resume", "full-batch", "--epochs", "9999999999")
}

// Runs of several seeds go on together.
func TestResumeSeedsForMoreEpochs(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must(append([]string{"train"}, small("--seeds", "1,2", "--run-dir", "seeds", "--epochs", "5", "--quiet")...)...)
	s.must("train", "--resume", "seeds", "--epochs", "15", "--quiet")
	s.must(append([]string{"train"}, small("--seed", "2", "--run-dir", "alone", "--epochs", "15", "--quiet")...)...)
	a, err := os.ReadFile(s.path("seeds/seed-2/last.safetensors"))
	b, err2 := os.ReadFile(s.path("alone/last.safetensors"))
	if err != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("weights differ: %v, %v", err, err2)
	}
	s.fails(2, []string{"--resume seeds --epochs 10: it is of 15 epochs: give more, or drop --epochs"}, "train", "--resume", "seeds", "--epochs", "10")
}
