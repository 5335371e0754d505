package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/report"
)

// sampledArgs are those of a small run on samples: 11 steps an epoch.
func sampledArgs(more ...string) []string {
	return append([]string{"--dataset", "ok.npz", "--hidden", "16", "--batch-size", "4"}, more...)
}

// A run on samples leaves what every run leaves, with what steps have done, in words that the commands after it understand.
func TestSampledRun(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	r := s.train(sampledArgs("--devices", "cpu:0,cpu:1", "--run-dir", "run")...)
	if r.Epochs != 30 || r.Val == nil || *r.Val < 0.9 || r.Sampling == nil || r.Cache.Policy != "none" || r.Order != "none" || r.HaloRows != 0 {
		t.Errorf("the result is %+v", r)
	} else if w := r.Sampling; w.Steps != 30*11 || w.Fanout != "15,10,all" || w.Rows.Read != w.Rows.Local+w.Rows.Fetched || w.Rows.Fetched == 0 || w.Edges == 0 || r.Bytes.Rows == 0 {
		t.Errorf("steps have done %+v, bytes %+v", w, r.Bytes)
	}
	run, err := runfolder.Dir(s.path("run")).Describe()
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Epochs) != 30 || slices.ContainsFunc(run.Epochs, func(e report.Epoch) bool {
		return e.Work == nil || e.Steps != 11 || e.Scores == nil || e.Val == nil || e.Work.Rows.Read == 0
	}) {
		t.Errorf("the epochs are %+v", run.Epochs)
	}
	for _, name := range []string{"config.yaml", "report.html", "model.safetensors", "last.safetensors", "plan.bin"} {
		if !term.Exists(s.path(filepath.Join("run", name))) {
			t.Errorf("the run has no %s", name)
		}
	}
	if again := s.train("--config", "run/config.yaml", "--run-dir", "again"); again.SHA256 != r.SHA256 {
		t.Errorf("repeated by its config file: weights %s, were %s", again.SHA256, r.SHA256)
	}
	if done := s.train("--resume", "run", "--batch-size", "4", "--sampling", "default"); done.SHA256 != r.SHA256 {
		t.Error("a finished run is not its result")
	}
	s.fails(term.ExitUsage, []string{"drop --batch-size"}, "train", "--quiet", "--resume", "run", "--batch-size", "8")
	s.must("predict", "--run", "run", "--what", "labels", "--out", "labels.csv", "--quiet")
	labels, err := os.ReadFile(s.path("labels.csv"))
	right := 0
	for v, line := range strings.Split(strings.TrimSpace(string(labels)), "\n")[1:] {
		if f := strings.Split(line, ","); f[0] == fmt.Sprint(v) && f[2] == fmt.Sprint(v/30) { // vertex, split, label
			right++
		}
	}
	if err != nil || right < 54 { // of 60 vertices
		t.Errorf("labels: %v, %d right\n%s", err, right, labels)
	}
	s.must("predict", "--run", "run", "--what", "embeddings", "--out", "hidden.npy", "--devices", "cpu:0,cpu:1", "--quiet")
	s.must("report", "run", "again", "--out", "both.html", "--quiet")
}

// Estimated scores are called so wherever they stand, and change no weight; evaluation behind the last epoch alone is one.
func TestSampledEstimates(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	exact := s.train(sampledArgs("--epochs", "3", "--run-dir", "exact")...)
	r := s.train(sampledArgs("--epochs", "3", "--run-dir", "run", "--fanout", "eval=1,1,all", "--eval-every", "0")...)
	if !r.Estimated || exact.Estimated || r.SHA256 != exact.SHA256 {
		t.Errorf("estimated %t, without %t; weights %s and %s", r.Estimated, exact.Estimated, r.SHA256, exact.SHA256)
	}
	for name, marks := range map[string]int{"run/metrics.jsonl": 1, "exact/metrics.jsonl": 0, "run/result.json": 1} {
		if text, err := os.ReadFile(s.path(name)); err != nil || strings.Count(strings.ReplaceAll(string(text), ": ", ":"), `"estimated":true`) != marks {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if page, err := os.ReadFile(s.path("run/report.html")); err != nil || !strings.Contains(string(page), "accuracy (estimated)") {
		t.Errorf("the page does not say that scores are estimated, %v", err)
	}
	if text := s.must(append([]string{"train", "--quiet"}, sampledArgs("--epochs", "1", "--fanout", "eval=1,1,all")...)...); !strings.Contains(text, "accuracy, estimated ") {
		t.Errorf("the result is\n%s", text)
	}
	s.fails(term.ExitUsage, []string{"--fanout eval", "write all"}, append([]string{"train", "--quiet"}, sampledArgs("--fanout", "eval=1,1,5")...)...)
}

// Devices with memory of their own keep feature rows there: those that there is memory for, or as many as --cache gpu= says. That changes what is uploaded, and no bit.
func TestSampledResidentRows(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	uploaded, sha := int64(1)<<60, ""
	for _, c := range []struct {
		size string
		rows int
	}{{"0", 0}, {"40%", 24}, {"auto", 60}} {
		args := sampledArgs("--devices", "sim:a40", "--cache", "gpu="+c.size)
		var p training.SampledPlan
		if err := json.Unmarshal([]byte(s.must(append([]string{"plan", "--quiet", "--json"}, args...)...)), &p); err != nil || p.Parts[0].Resident != c.rows {
			t.Errorf("%s: %v, planned %+v, want %d rows", c.size, err, p.Parts, c.rows)
		}
		r := s.train(append(args, "--epochs", "3")...)
		if r.Bytes.H2D >= uploaded || sha != "" && r.SHA256 != sha {
			t.Errorf("%s: %d bytes uploaded, weights %s; with fewer rows %d, %s", c.size, r.Bytes.H2D, r.SHA256, uploaded, sha)
		}
		uploaded, sha = r.Bytes.H2D, r.SHA256
	}
	if text := s.must("plan", "--quiet", "--dataset", "ok.npz", "--batch-size", "4", "--devices", "sim:a40,sim:a40"); strings.Count(text, "60 rows of features stay on it") != 2 || !strings.Contains(text, "0 of these rows are fetched") || strings.Contains(text, "row cache") {
		t.Errorf("the plan says:\n%s", text)
	}
}

// The config file of a run on samples trains full-batch with --batch-size 0, and the other way round; what one of them recorded does not stand in
// the way of the other.
func TestFromSampledToFullBatchAndBack(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train(sampledArgs("--devices", "cpu:0,cpu:1", "--run-dir", "sampled", "--sampling", "distdgl", "--epochs", "3")...)
	full := s.train("--config", "sampled/config.yaml", "--batch-size", "0", "--run-dir", "full")
	if full.Sampling != nil || full.Epochs != 3 {
		t.Errorf("full batch: %+v", full)
	}
	if back := s.train("--config", "full/config.yaml", "--batch-size", "4", "--cache", "jaca", "--run-dir", "back"); back.Sampling == nil || back.Epochs != 3 {
		t.Errorf("sampled again: %+v", back)
	}
}

// The weights are a function of the settings that decide them: threads, steps that are made ahead, links and another try change no bit.
func TestSampledBits(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, more := range [][]string{{"--model", "sage"}, {"--model", "gat", "--heads", "2", "--fanout", "2,1,2"}, {"--model", "gcn", "--sampling", "distdgl"}} {
		want := ""
		for i, devices := range []string{"cpu:0,threads=1,cpu:1,threads=1", "cpu:0,threads=2,cpu:1,threads=2", "cpu:0,threads=1,link=20MiB/s,cpu:1,threads=1,link=20MiB/s"} {
			for _, prefetch := range []int{1, 3} {
				name := "default"
				if slices.Contains(more, "distdgl") {
					name = "distdgl"
				}
				args := append(sampledArgs(more...), "--epochs", "3", "--devices", devices, "--sampling", fmt.Sprintf("%s,prefetch=%d", name, prefetch), "--run-dir", fmt.Sprint(more[1], i, prefetch))
				if got := s.train(args...); want == "" {
					want = got.SHA256
				} else if got.SHA256 != want {
					t.Errorf("%v on %s, prefetch %d: weights %s, want %s", more, devices, prefetch, got.SHA256, want)
				}
			}
		}
	}
}

// A run on samples whose steps do not fit says what does, in one line.
func TestSampledDoesNotFit(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, command := range []string{"train", "plan"} {
		for want, more := range map[string][]string{
			"give --batch-size":    {"--devices", "cpu:0,mem=30KiB", "--batch-size", "40", "--fanout", "all,all,all"},
			"no --batch-size fits": {"--devices", "cpu:0,mem=6KiB"},
		} {
			args := append([]string{command, "--quiet"}, sampledArgs(more...)...)
			_, stderr, code := s.run(args...)
			if code != term.ExitDoesNotFit || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%v: exit code %d, want 3 and %q: %s", args, code, want, stderr)
			}
			if fits := regexp.MustCompile(`give (--batch-size) (\d+),`).FindStringSubmatch(stderr); fits != nil {
				s.must(append(args, fits[1:]...)...)
			}
		}
	}
}
