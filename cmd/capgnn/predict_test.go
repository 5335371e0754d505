package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/prediction"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/npy"
)

// predict runs `predict --json --quiet` and returns its result.
func (s *sandbox) predict(args ...string) *prediction.Result {
	s.T.Helper()
	r := new(prediction.Result)
	out := s.must(append([]string{"predict", "--json", "--quiet"}, args...)...)
	if err := json.Unmarshal([]byte(out), r); err != nil {
		s.T.Fatalf("%v in %q", err, out)
	}
	return r
}

func (s *sandbox) array(name string) *npy.Array {
	s.T.Helper()
	a, err := npy.Open(s.path(name))
	if err != nil {
		s.T.Fatal(err)
	}
	return a
}

// allTraining is the small data set with every vertex in the training split.
func allTraining() store {
	st := newStore()
	st["train_mask"] = npy.Entry{Data: slices.Repeat([]bool{true}, 60)}
	return st
}

// Logits, labels and embeddings of one run agree with each other, with its training accuracy, and on any devices.
func TestPredict(t *testing.T) {
	s := newSandbox(t)
	allTraining().write(s, "ok.npz")
	for _, model := range []string{"gcn", "sage", "gin", "gat"} {
		// The best epoch of a run without validation is the last.
		trained := s.train(small("--run-dir", model, "--model", model)...)
		r := s.predict("--run", model)
		if r.Dataset != "ok" || r.Out != model+"/logits.npy" || r.Vertices != 60 || r.Columns != 2 || r.Layer != nil {
			t.Errorf("%s: result %+v", model, r)
		}
		logits := s.Floats(r.Out, 60, 2)
		s.predict("--run", model, "--weights", "last", "--devices", "cpu:0,threads=1,cpu:1,threads=1", "--out", "two.csv")
		for i, x := range s.csv("two.csv", "vertex,logit_0,logit_1", 60) {
			// Parts change the order of sums of fewer than 20 terms of size about 1: some 20·2⁻²⁴.
			if math.Abs(x-float64(logits[i])) > 1e-5 {
				t.Fatalf("%s: logit %d is %g on one device, %g on two", model, i, logits[i], x)
			}
		}
		s.predict("--run", model, "--what", "labels")
		labels, err := s.array(model + "/labels.npy").Int64()
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for v, y := range labels {
			if (logits[2*v+1] > logits[2*v]) != (y == 1) {
				t.Errorf("%s: vertex %d has label %d and logits %g", model, v, y, logits[2*v:2*v+2])
			}
			if int(y) == v/30 {
				right++
			}
		}
		if got := float64(right) / 60; *trained.Train != got {
			t.Errorf("%s: %g of the predicted labels are right, training said %g", model, got, *trained.Train)
		}
		e := s.predict("--run", model, "--what", "embeddings")
		if e.Layer == nil || *e.Layer != 0 || slices.Min(s.Floats(e.Out, 60, 16)) < 0 {
			t.Errorf("%s: embeddings of %+v", model, e)
		}
	}
}

// csv returns the numbers of a file with this header, whose first column counts the rows.
func (s *sandbox) csv(name, header string, rows int) []float64 {
	s.T.Helper()
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		s.T.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	lines = withoutSplit(lines)
	if err != nil || len(lines) != rows+1 || strings.Join(lines[0], ",") != header {
		s.T.Fatalf("%s: %d lines, %v, the first is %q", name, len(lines), err, lines[0])
	}
	var out []float64
	for v, line := range lines[1:] {
		if line[0] != strconv.Itoa(v) {
			s.T.Fatalf("%s: row %d is of vertex %s", name, v, line[0])
		}
		for _, text := range line[1:] {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				s.T.Fatal(err)
			}
			out = append(out, x)
		}
	}
	return out
}

// Another data set needs the same features and classes, and no labels.
func TestPredictOtherData(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train(small("--run-dir", "run")...)
	half := store{ // the first ring, without labels
		"indptr": {Data: newStore()["indptr"].Data.([]int64)[:31]}, "indices": {Data: newStore()["indices"].Data.([]int32)[:60]},
		"x": {Shape: []int{30, 6}, Data: newStore()["x"].Data.([]float32)[:180]},
	}
	half.write(s, "half.npz")
	s.predict("--run", "run")
	r := s.predict("--run", "run", "--dataset", "half.npz")
	if r.Out != "run/logits-half.npy" || r.Vertices != 30 {
		t.Errorf("result %+v", r)
	}
	// The rings are not connected, so the other one's absence changes nothing but rounding.
	whole := s.Floats("run/logits.npy", 60, 2)
	for i, x := range s.Floats(r.Out, 30, 2) {
		if math.Abs(float64(x-whole[i])) > 1e-5 {
			t.Fatalf("logit %d is %g, in the whole graph %g", i, x, whole[i])
		}
	}
	s.predict("--run", "run", "--dataset", "half.npz", "--what", "labels", "--out", "labels.csv")
	s.csv("labels.csv", "vertex,label", 30)

	narrow := newStore()
	narrow["x"] = npy.Entry{Shape: []int{60, 5}, Data: make([]float32, 300)}
	narrow.write(s, "narrow.npz")
	classes := newStore()
	classes["y"].Data.([]int64)[0] = 2
	classes.write(s, "classes.npz")
	several := newStore()
	several["y"] = npy.Entry{Shape: []int{60, 2}, Data: make([]uint8, 120)}
	several.write(s, "several.npz")
	for name, want := range map[string]string{"narrow.npz": "5 features", "classes.npz": "3 classes", "several.npz": "label", "nowhere": "nowhere"} {
		s.fails(term.ExitUsage, []string{"--dataset " + name, want}, "predict", "--quiet", "--run", "run", "--dataset", name)
	}
	if err := os.Remove(s.path("run/result.json")); err != nil {
		t.Fatal(err)
	}
	s.fails(term.ExitUsage, []string{"--resume run"}, "predict", "--quiet", "--run", "run", "--dataset", "half.npz", "--what", "labels")
}

// Several labels per vertex become a matrix of 0 and 1: where the logit is positive.
func TestPredictSeveralLabels(t *testing.T) {
	s := newSandbox(t)
	st, y := allTraining(), make([]uint8, 180)
	for v := range 60 {
		y[3*v+v/30], y[3*v+2] = 1, 1
	}
	st["y"] = npy.Entry{Shape: []int{60, 3}, Data: y}
	st.write(s, "ok.npz")
	s.train(small("--run-dir", "run", "--model", "sage")...)
	s.predict("--run", "run", "--what", "labels")
	s.predict("--run", "run")
	labels := s.array("run/labels.npy")
	flags, err := labels.Uint8()
	if err != nil || !slices.Equal(labels.Shape, []int{60, 3}) {
		t.Fatalf("shape %v, %v", labels.Shape, err)
	}
	for i, z := range s.Floats("run/logits.npy", 60, 3) {
		if (z > 0) != (flags[i] == 1) || flags[i] > 1 {
			t.Errorf("label %d is %d, its logit %g", i, flags[i], z)
		}
	}
}

func TestPredictGenerated(t *testing.T) {
	s := newSandbox(t)
	s.train("--dataset", "generated", "--hidden", "8", "--layers", "2", "--epochs", "2", "--run-dir", "run")
	if r := s.predict("--run", "run"); r.Vertices != datasets.GeneratedVertices || r.Columns != datasets.GeneratedClasses {
		t.Errorf("result %+v", r)
	}
}

// A run that stored rows as bf16 is predicted with such rows.
func TestPredictStorage(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	allTraining().write(s, "ok.npz")
	for run, more := range map[string][]string{"full": nil, "sampled": {"--batch-size", "20", "--fanout", "3,3"}} {
		s.train(append(small("--run-dir", run, "--model", "gin", "--storage", "bf16"), more...)...)
		logits := s.Floats(s.predict("--run", run).Out, 60, 2)
		config, err := os.ReadFile(s.path(run + "/config.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		s.put(run+"/config.yaml", []byte(strings.Replace(string(config), "storage: bf16", "storage: fp32", 1)))
		if slices.Equal(logits, s.Floats(s.predict("--run", run).Out, 60, 2)) {
			t.Errorf("%s: the logits do not depend on how rows are stored", run)
		}
	}
}

func TestPredictWrongUsage(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train(small("--run-dir", "run")...)
	s.train(small("--run-dir", "wide", "--hidden", "8")...)
	s.train(small("--run-dir", "flat", "--layers", "1")...)
	data, err := os.ReadFile(s.path("run/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.path("huge"), 0o755); err != nil {
		t.Fatal(err)
	}
	huge := strings.Replace(string(data), "hidden: 16", "hidden: 1048576", 1)
	if err := os.WriteFile(s.path("huge/config.yaml"), []byte(strings.Replace(huge, "layers: 2", "layers: 60", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"--run", nil},
		{"nowhere", []string{"--run", "nowhere"}},
		{"no run there: the folder has runs in it", []string{"--run", "."}},
		{"--what", []string{"--run", "run", "--what", "colours"}},
		{"--what embeddings", []string{"--run", "run", "--layer", "0"}},
		{"0 to 0", []string{"--run", "run", "--what", "embeddings", "--layer", "1"}},
		{"0 to 0", []string{"--run", "run", "--what", "embeddings", "--layer", "-1"}},
		{"one layer", []string{"--run", "flat", "--what", "embeddings"}},
		{"layer", []string{"--run", "run", "--what", "embeddings", "--layer", "first"}},
		{".npy", []string{"--run", "run", "--out", "x.txt"}},
		{"nowhere", []string{"--run", "run", "--out", "nowhere/x.npy"}},
		{"newest.npz", []string{"--run", "run", "--weights", "newest.npz"}},
		{"ok.npz", []string{"--run", "run", "--weights", "ok.npz"}},
		{"wide/last.safetensors", []string{"--run", "run", "--weights", "wide/last.safetensors"}},
		{"run/last.safetensors", []string{"--run", "huge", "--weights", "run/last.safetensors"}},
		{"--devices", []string{"--run", "run", "--devices", "banana"}},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			inner.fails(term.ExitUsage, []string{tc.want}, append([]string{"predict", "--quiet"}, tc.args...)...)
		})
	}
	s.fails(term.ExitDoesNotFit, []string{"cpu:0", "mem="}, "predict", "--quiet", "--run", "run", "--devices", "cpu:0,mem=2KiB")
	s.fails(term.ExitDoesNotFit, []string{"cpu:1", "mem="}, "predict", "--quiet", "--run", "run", "--devices", "cpu:0,cpu:1,mem=3KiB")
	s.train(small("--batch-size", "16", "--epochs", "1", "--run-dir", "drawn")...) // is predicted in chunks
	s.fails(term.ExitDoesNotFit, []string{"cpu:1", "mem="}, "predict", "--quiet", "--run", "drawn", "--devices", "cpu:0,cpu:1,mem=3KiB")
	if term.Exists(s.path("run/logits.npy")) {
		t.Error("a prediction that went wrong left its file")
	}
}

// A run is predicted on any number of devices, whatever it was trained on, in chunks and whole.
func TestPredictOnOtherDevices(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for name, batch := range map[string]string{"full": "0", "sampled": "8"} {
		s.train(small("--run-dir", name, "--epochs", "2", "--batch-size", batch, "--devices", "cpu:threads=1,cpu:threads=1,cpu:threads=1")...)
		s.predict("--run", name)
		logits := s.Floats(name+"/logits.npy", 60, 2)
		for _, devices := range []string{"cpu:threads=1,cpu:threads=1", "cpu:threads=1,cpu:threads=1,cpu:threads=1", "cpu:threads=1,cpu:threads=1,cpu:threads=1,cpu:threads=1", "sim:a40,sim:rtx3090"} {
			s.predict("--run", name, "--devices", devices, "--out", "other.npy")
			for i, x := range s.Floats("other.npy", 60, 2) {
				if math.Abs(float64(x-logits[i])) > 1e-5 {
					t.Fatalf("%s: logit %d is %g on one device, %g on %s", name, i, logits[i], x, devices)
				}
			}
		}
	}
}

// A prediction that does not fit says with how much more memory it does.
func TestPredictFitsAsAdvised(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for name, batch := range map[string]string{"full": "0", "sampled": "8"} {
		s.train(small("--run-dir", name, "--hidden", "256", "--epochs", "1", "--batch-size", batch)...)
		for _, have := range []int{2000, 8000} {
			for _, second := range []string{"", ",cpu:threads=1,mem=1MiB"} {
				on := func(bytes int) []string {
					return []string{"predict", "--quiet", "--run", name, "--devices", fmt.Sprintf("cpu:threads=1,mem=%dB%s", bytes, second)}
				}
				_, line, code := s.run(on(have)...)
				found := regexp.MustCompile(`give .*?([0-9.]+ [KM]iB) more \(mem=\)`).FindStringSubmatch(line)
				if code != term.ExitDoesNotFit || found == nil {
					t.Fatalf("%s, %d bytes%s: exit code %d, %s", name, have, second, code, line)
				}
				more, err := term.ParseBytes(strings.ReplaceAll(found[1], " ", ""))
				if err != nil {
					t.Fatal(err)
				}
				s.must(on(have + int(more))...)
			}
		}
	}
}

// A run folder that takes no file is refused before anything is computed.
func TestPredictIntoNoFolder(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train(small("--run-dir", "run", "--epochs", "1")...)
	if err := os.Mkdir(s.path("run/logits.npy"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.fails(term.ExitUsage, []string{"--run: run/logits.npy is a folder", "name another file with --out"}, "predict", "--quiet", "--run", "run")
	s.must("predict", "--quiet", "--run", "run", "--out", "elsewhere.npy")
}

// Values that are no numbers are written, and a note says of how many vertices; nothing is noted of others.
func TestPredictNotFinite(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	st := allTraining()
	st.write(s, "ok.npz")
	x := slices.Clone(st["x"].Data.([]float32))
	for _, v := range []int{40, 41} { // whose sum is infinite
		for k := range 6 {
			x[v*6+k] = 3e38
		}
	}
	st["x"] = npy.Entry{Shape: []int{60, 6}, Data: x}
	st.write(s, "huge.npz")
	s.train(small("--run-dir", "run", "--model", "gin", "--norm", "none")...)
	for what, said := range map[string]string{"logits": "logits", "probabilities": "logits", "labels": "logits", "embeddings": "embeddings", "pca": ""} {
		for name, want := range map[string]string{
			"ok.npz": "", "huge.npz": "note: " + said + " of 6 of 60 vertices are NaN or infinite, of vertex 38 first: ",
		} {
			if what == "embeddings" {
				want = strings.NewReplacer("6 of", "4 of", "38", "39").Replace(want)
			}
			if what == "pca" && want != "" {
				want = "note: 4 of 60 vertices are left out: "
			}
			_, notes, code := s.run("predict", "--run", "run", "--dataset", name, "--what", what, "--json")
			if code != 0 || (want == "") != !strings.Contains(notes, "infinite") || !strings.Contains(notes, want) {
				t.Errorf("%s of %s: exit code %d, %q, want %q", what, name, code, notes, want)
			}
		}
	}
}
