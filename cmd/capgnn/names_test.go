package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// A word that is almost right is answered with the right one, whatever it was to be.
func TestDidYouMean(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	if err := os.WriteFile(s.path("typo.yaml"), []byte("epoch: 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		meant string
		args  []string
	}{
		{"train", []string{"trian"}},
		{"data list", []string{"data", "lits"}},
		{"bench staleness", []string{"bench", "stalenes"}},
		{"--epochs", []string{"train", "--dataset", "ok.npz", "--epoch", "3"}},
		{"--layers", []string{"train", "--dataset", "ok.npz", "--layer=3"}},
		{"--edges", []string{"data", "info", "ok.npz", "--edge", "directed"}},
		{"--edges", []string{"data", "info", "--edge", "directed", "ok.npz"}},
		{"--quick", []string{"bench", "rapa", "--quikc"}},
		{"--version", []string{"--versoin"}},
		{"sage", []string{"train", "--dataset", "ok.npz", "--model", "SAGe"}},
		{"adam", []string{"train", "--dataset", "ok.npz", "--optimizer", "adamv", "--model", "gcn"}},
		{"paper", []string{"train", "--dataset", "ok.npz", "--cache", "papre"}},
		{"multilevel", []string{"partition", "--dataset", "ok.npz", "--partitioner", "multi"}},
		{"epochs", []string{"train", "--config", "typo.yaml"}},
		{"reddit-like", []string{"data", "synth", "redit-like", "--out", "x"}},
		{"pubmed", []string{"data", "fetch", "pubmd"}},
		{"citeseer", []string{"train", "--dataset", "citeser"}},
		{"cora", []string{"data", "info", "corra"}},
		{"tolokers", []string{"plan", "--dataset", "tolkers"}},
	} {
		meant := "did you mean " + tc.meant + "?"
		s.fails(term.ExitUsage, []string{meant}, append(tc.args, "--quiet")...)
	}
	if _, stderr, _ := s.run("train", "--nonsense"); strings.Contains(stderr, "did you mean") || strings.Count(stderr, "nonsense") != 1 {
		t.Errorf("got %q", stderr)
	}
}

// The error of a data set that is not there says how to get it, or how to see what is there.
func TestUnknownDataset(t *testing.T) {
	s := newSandbox(t)
	for name, want := range map[string][]string{
		"cora":       {"capgnn data fetch planetoid_cora", "downloads", "capgnn data list"},
		"OGBN-Arxiv": {"capgnn data fetch ogbn_arxiv", "downloads"},
		"ppi":        {"capgnn data fetch ppi", "says how to get it"},
		"mine":       {"capgnn data list", "capgnn data fetch NAME", "cora, citeseer, pubmed", "ogbn-arxiv"},
		"dir/mine":   {"capgnn data list", "capgnn data fetch NAME"},
	} {
		for _, args := range [][]string{{"train", "--dataset", name}, {"plan", "--dataset", name}, {"partition", "--parts", "2", "--dataset", name},
			{"data", "info", name}, {"data", "import", name, "--out", "x"}, {"bench", "rapa", "--datasets", name}} {
			s.fails(term.ExitUsage, append(want, name), append(args, "--quiet")...)
		}
	}
}

// An alias finds the data set that is there; of several the line says which one was taken.
func TestAliases(t *testing.T) {
	s := newSandbox(t)
	for _, name := range []string{"planetoid_cora", "cora_npz"} {
		if err := os.MkdirAll(filepath.Join(s.path("data/capgnn"), name), 0o755); err != nil {
			t.Fatal(err)
		}
		newStore().write(s, filepath.Join("data/capgnn", name, "one.npz"))
	}
	r := s.train("--dataset", "Cora", "--epochs", "1", "--hidden", "4")
	if r.Dataset != "planetoid_cora" {
		t.Errorf("trained on %s", r.Dataset)
	}
	_, stderr, code := s.run("data", "info", "cora")
	if code != 0 || !strings.Contains(stderr, "note: cora is taken as planetoid_cora; cora_npz may also be meant") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// --version and -v say what the command says.
func TestVersionFlag(t *testing.T) {
	s := newSandbox(t)
	want := s.must("version")
	for _, flag := range []string{"--version", "-v", "-version"} {
		if got := s.must(flag); got != want {
			t.Errorf("%s prints %q, want %q", flag, got, want)
		}
	}
	s.fails(term.ExitUsage, []string{"--version", "train"}, "--version", "train", "--dataset", "x")
	var info term.BuildInfo
	if err := json.Unmarshal([]byte(s.must("version", "--json")), &info); err != nil {
		t.Error(err)
	}
}

// An error begins with the command that was called, not with another one.
func TestErrorsNameTheirCommand(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train("--dataset", "ok.npz", "--epochs", "1", "--hidden", "4", "--run-dir", "run")
	for _, tc := range []struct {
		begins string
		args   []string
	}{
		{"train: ", []string{"train", "--dataset", "ok.npz", "--partitioner", "balance=0.5"}},
		{"train: ", []string{"train", "--dataset", "ok.npz", "--epochs", "x"}},
		{"partition: ", []string{"partition", "--dataset", "ok.npz", "--parts", "2", "--partitioner", "balance=0.5"}},
		{"partition: ", []string{"partition", "--dataset", "ok.npz", "--parts", "x"}},
		{"plan: ", []string{"plan", "--dataset", "ok.npz", "--partitioner", "balance=0.5"}},
		{"plan: ", []string{"plan", "--dataset", "ok.npz", "--seed", "x"}},
		{"plan: ", []string{"plan"}},
		{"predict: ", []string{"predict"}},
	} {
		_, stderr, code := s.run(append(tc.args, "--quiet")...)
		if code != term.ExitUsage || !strings.HasPrefix(stderr, "capgnn: "+tc.begins) {
			t.Errorf("%v: exit code %d, %q, want it to begin with %q", tc.args, code, stderr, tc.begins)
		}
	}
	config, err := os.ReadFile(s.path("run/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(string(config), "balance=1.03", "balance=0.5", 1)
	if err := os.WriteFile(s.path("run/config.yaml"), []byte(damaged), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, _ := s.run("predict", "--run", "run"); strings.Contains(stderr, "train:") || !strings.Contains(stderr, "--partitioner balance=0.5") {
		t.Errorf("predict says %q", stderr)
	}
	if _, stderr, _ := s.run("bench", "rapa", "--quick", "--datasets", "ok.npz", "--epochs", "0"); strings.Contains(stderr, "train:") {
		t.Errorf("bench says %q", stderr)
	}
}

// A list of devices that cannot be had is refused before data are read: here the data set is not there either.
func TestDevicesBeforeData(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train("--dataset", "ok.npz", "--epochs", "1", "--hidden", "4", "--run-dir", "run")
	if err := os.Remove(s.path("ok.npz")); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"gpu:0", "cpu:0,threads=0", "cpu:zero", "cuda:63", "sim:nothing", "cpu:0,sim:a40", "cpu:0,,cpu:1"} {
		for _, args := range [][]string{
			{"train", "--dataset", "ok.npz"}, {"partition", "--dataset", "ok.npz"}, {"plan", "--dataset", "ok.npz"}, {"predict", "--run", "run"},
			{"bench", "rapa", "--datasets", "ok.npz"}, {"profile"},
		} {
			_, stderr, code := s.run(append(args, "--quiet", "--devices", list)...)
			if code != term.ExitUsage || strings.Contains(stderr, "ok.npz") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s --devices %s: exit code %d, %q", args[0], list, code, stderr)
			}
		}
	}
}
