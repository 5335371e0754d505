package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/model"
)

// Every model is listed with settings that it takes, shown with each of them, and the file checks.
func TestModelCommand(t *testing.T) {
	s := newSandbox(t)
	var lines []modelLine
	if err := json.Unmarshal([]byte(s.must("model", "list", "--json")), &lines); err != nil {
		t.Fatal(err)
	}
	text := s.must("model", "list")
	if len(lines) != len(runfolder.Models) {
		t.Errorf("%d models are listed, want %d", len(lines), len(runfolder.Models))
	}
	value := map[string]string{"layers": "4", "hidden": "12", "heads": "3", "teleport": "0.3", "theta": "0.7", "norm": "none", "jk": "cat", "activation": "elu", "dropout": "0.1", "attention-dropout": "0.2"}
	for _, l := range lines {
		if !strings.Contains(text, l.Name) {
			t.Errorf("no %s in\n%s", l.Name, text)
		}
		out := filepath.Join(t.TempDir(), "net.json")
		args := []string{"model", "show", l.Name, "--in-channels", "5", "--out-channels", "3", "--out", out}
		for _, o := range l.Options {
			args = append(args, "--"+o)
			if v, takes := value[o]; takes {
				args = append(args, v)
			}
		}
		if text := s.must(args...); text != "" {
			t.Errorf("%s: with --out it prints %q", l.Name, text)
		}
		p, err := model.Read(out)
		if err != nil {
			t.Fatalf("%s: %v", l.Name, err)
		}
		if p.Features != 5 || p.Outputs != 3 {
			t.Errorf("%s: %d features, %d outputs", l.Name, p.Features, p.Outputs)
		}
		var f modelFacts
		if err := json.Unmarshal([]byte(s.must("model", "check", out, "--vertices", "100", "--edges", "400", "--json")), &f); err != nil {
			t.Fatal(err)
		}
		if f.SHA256 != p.SHA256() || f.Values == 0 || f.Operations == 0 || f.Parameters == 0 || f.Unused != nil {
			t.Errorf("%s: %+v", l.Name, f)
		}
		if text := s.must("model", "check", out); !strings.Contains(text, "valid") || !strings.Contains(text, "\ntrained  yes: ") || strings.Contains(text, "operations") {
			t.Errorf("%s: check says\n%s", l.Name, text)
		}
	}
	newStore().write(s, "ok.npz")
	s.put("max.json", []byte(strings.Replace(s.must("model", "show", "gcn"), `"sum_in"`, `"max_in"`, 1)))
	text, refused, code := s.run("model", "check", "max.json")
	_, want, _ := s.run("train", "--dataset", "ok.npz", "--model", "max.json")
	if !strings.Contains(text, "max.json, valid") || code != term.ExitUsage || refused != want || !strings.Contains(refused, `/max.json: node "sum_in0": max_in is known of src`) {
		t.Errorf("check ends with %d and says\n%s%swhere train says\n%s", code, text, refused, want)
	}
	if line := s.must("model", "show", "gcn", "--json"); strings.Count(line, "\n") != 1 || !json.Valid([]byte(line)) {
		t.Errorf("--json prints %q", line)
	}
}

// Mistakes are one line with the exit code of a wrong command line.
func TestModelCommandRefuses(t *testing.T) {
	s := newSandbox(t)
	bad := filepath.Join(t.TempDir(), "bad.json")
	text := strings.Replace(s.must("model", "show", "gcn", "--layers", "1"), `"of": "g"`, `"of": "h"`, 1)
	if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		`"gnc" (did you mean gcn?)`:                             {"model", "show", "gnc"},
		"layers 0 is not in [1, 64]":                            {"model", "show", "gcn", "--layers", "0"},
		"number of classes 0 is below 1":                        {"model", "show", "gcn", "--out-channels", "0"},
		`--model sgc has no layers that add`:                    {"model", "show", "sgc", "--residual"},
		"1000000000000 is not in [1,":                           {"model", "show", "gat", "--layers", "1", "--heads", "1000000000000"},
		`bad.json: graph "a": graph "h" is not declared`:        {"model", "check", bad},
		"nowhere.json":                                          {"model", "check", "nowhere.json"},
		"give both":                                             {"model", "check", bad + "x", "--vertices", "5"},
		"give one FILE, got 0: see `capgnn model check --help`": {"model", "check"},
	} {
		if want == "give both" {
			good := filepath.Join(t.TempDir(), "good.json")
			s.must("model", "show", "gcn", "--out", good)
			args[2] = good
		}
		out, errs, code := s.run(args...)
		if code != term.ExitUsage || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 || out != "" {
			t.Errorf("%v: code %d, %q, %q, want %q", args, code, out, errs, want)
		}
	}
}
