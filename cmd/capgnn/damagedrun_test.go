package main

import (
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// A file of a run that is missing or damaged is named, with what to do about it.
func TestDamagedRun(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must("train", "--quiet", "--dataset", "ok.npz", "--hidden", "4", "--epochs", "2", "--run-dir", "run")
	predict, resume := "predict --run run", "train --quiet --resume run"
	for _, c := range []struct {
		file, text string // "" = the file is removed
		command    string
		says       string
	}{
		{"names.json", "{", predict, "read names run/names.json: unexpected end of JSON input: restore that file, or train anew with `capgnn train --config run/config.yaml`"},
		{"names.json", "", predict, "names.json: no such file or directory: restore that file, or train anew"},
		{"names.json", "", resume + " --epochs 4", "names.json: no such file or directory: restore that file, or train anew"},
		{"model.safetensors", "", predict, "use those of the last epoch with --weights last"},
		{"model.safetensors", "x", predict, "use those of the last epoch with --weights last"},
		{"last.safetensors", "", predict + " --weights last", "use those of the best epoch with --weights best"},
		{"result.json", "x", predict, "capgnn: read result run/result.json: invalid character 'x' looking for beginning of value: remove it, and `capgnn train --resume run` trains the last epochs again"},
		{"result.json", "x", resume, "remove it, and `capgnn train --resume run` trains"},
		{"result.json", "x", "report run", "remove it, and `capgnn train --resume run` trains"},
	} {
		path := s.path("run/" + c.file)
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if s.put("run/"+c.file, []byte(c.text)); c.text == "" {
			os.Remove(path)
		}
		s.fails(term.ExitUsage, []string{c.says}, strings.Fields(c.command)...)
		s.put("run/"+c.file, was)
	}
	for _, name := range []string{"model.safetensors", "last.safetensors"} {
		os.Remove(s.path("run/" + name))
	}
	s.fails(term.ExitUsage, []string{"train anew with `capgnn train --config run/config.yaml`"}, strings.Fields(predict)...)
	os.Remove(s.path("run/result.json"))
	s.fails(term.ExitUsage, []string{"continue the run with `capgnn train --resume run`"}, strings.Fields(predict)...)
	s.must(strings.Fields(resume)...)
	s.must(append(strings.Fields(predict), "--quiet")...)
}
