package main

import (
	"os"
	"strings"
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
			elsewhere := sandboxIn(t, s.path("elsewhere"))
			if err := os.Mkdir(elsewhere.Dir, 0o755); err != nil {
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

// Runs of unlike length are averaged with a note, and the command that it names makes them alike.
func TestSeedsOfUnlikeLength(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must("train", "--quiet", "--dataset", "ok.npz", "--hidden", "4", "--epochs", "2", "--seeds", "1-3", "--run-dir", "all")
	s.must("train", "--quiet", "--resume", "all/seed-2", "--epochs", "5")
	const note = "note: the runs are of 2 to 5 epochs: `capgnn train --resume all --epochs 5` makes them alike"
	for _, c := range []struct {
		args []string
		note bool
	}{{nil, true}, {[]string{"--epochs", "5"}, false}} {
		_, stderr, code := s.run(append([]string{"train", "--resume", "all"}, c.args...)...)
		if code != 0 || strings.Contains(stderr, note) != c.note {
			t.Errorf("%v: exit code %d, %q; a note is due: %t", c.args, code, stderr, c.note)
		}
	}
}

// Whoever may only read a folder of runs that have ended is shown their result.
func TestSeedsReadOnly(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write to every folder")
	}
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must("train", "--quiet", "--dataset", "ok.npz", "--hidden", "4", "--epochs", "2", "--seeds", "1-2", "--run-dir", "all")
	readOnly := func(mode os.FileMode) {
		for _, name := range []string{"all/seed-1", "all/seed-2", "all"} {
			if err := os.Chmod(s.path(name), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	readOnly(0o555)
	defer readOnly(0o755)
	if out := s.must("train", "--quiet", "--resume", "all"); !strings.Contains(out, "2 runs") {
		t.Errorf("it prints %q", out)
	}
	for _, name := range []string{"all", "all/seed-1"} {
		s.fails(term.ExitUsage, []string{"lock: permission denied: make it writable, or resume a copy of the folder"},
			"train", "--quiet", "--resume", name, "--epochs", "4")
	}
}
