package main

import (
	"os"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// Runs of several seeds have one data set and one model: a run that has not begun when the folder is resumed finds both
// from another folder, where files of the same names are others. Data that have changed are refused.
func TestSeedsKeepTheirData(t *testing.T) {
	t.Parallel()
	for what, drawn := range map[string]bool{"sets of the file": false, "sets drawn by each seed": true} {
		t.Run(what, func(t *testing.T) {
			s := newSandbox(t)
			elsewhere := &sandbox{t, s.path("elsewhere")}
			if err := os.Mkdir(elsewhere.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			mine, other := newStore(), newStore()
			x := other["x"]
			x.Data.([]float32)[0]++
			if drawn {
				for _, st := range []store{mine, other} {
					delete(st, "train_mask")
					delete(st, "val_mask")
					delete(st, "test_mask")
				}
			}
			mine.write(s, "ok.npz")
			other.write(elsewhere, "ok.npz")
			shape := []string{"model", "show", "gcn", "--in-channels", "6", "--out-channels", "2", "--layers", "2", "--hidden"}
			s.put("net.json", []byte(s.must(append(shape, "8")...)))
			elsewhere.put("net.json", []byte(s.must(append(shape, "4")...)))
			s.must("train", "--quiet", "--dataset", "ok.npz", "--model", "net.json", "--epochs", "3", "--seeds", "1-2", "--run-dir", "all")
			second := runfolder.Dir(s.path("all/seed-2"))
			want, err := second.ReadResult()
			if err != nil {
				t.Fatal(err)
			}
			begin := func() {
				if err := os.RemoveAll(string(second)); err != nil {
					t.Fatal(err)
				}
			}
			begin()
			elsewhere.must("train", "--quiet", "--resume", "../all")
			if r, err := second.ReadResult(); err != nil || r.SHA256 != want.SHA256 {
				t.Errorf("resumed from another folder: %v, weights %+v, want %s", err, r, want.SHA256)
			}
			begin()
			other.write(s, "ok.npz")
			s.fails(term.ExitUsage, []string{"seed 2: ", "not what its other runs are trained on"}, "train", "--quiet", "--resume", "all")
		})
	}
}

// The data set that needs no file is drawn by each seed.
func TestSeedsOfGenerated(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.must("train", "--quiet", "--dataset", "generated", "--hidden", "4", "--epochs", "1", "--seeds", "1-2", "--run-dir", "all")
	if err := os.RemoveAll(s.path("all/seed-2")); err != nil {
		t.Fatal(err)
	}
	s.must("train", "--quiet", "--resume", "all")
}

// A run of others in the folder of a seed is refused, and not counted.
func TestSeedsKeepStrangersOut(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	with := func(more ...string) []string {
		return append([]string{"train", "--quiet", "--dataset", "generated", "--hidden", "4", "--epochs", "1"}, more...)
	}
	s.must(with("--seeds", "1-2", "--run-dir", "all")...)
	for setting, flags := range map[string][]string{"--model": {"--model", "sage"}, "--hidden": {"--hidden", "8"},
		"--seed": {"--seed", "3"}, "--lr": {"--lr", "0.5"}} {
		if err := os.RemoveAll(s.path("all/seed-2")); err != nil {
			t.Fatal(err)
		}
		s.must(append(with("--seed", "2", "--run-dir", "all/seed-2"), flags...)...)
		s.fails(term.ExitUsage, []string{"the run of seed 2 differs from the others in " + setting + ": move its folder"},
			"train", "--quiet", "--resume", "all")
	}
}
