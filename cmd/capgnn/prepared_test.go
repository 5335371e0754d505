package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/internal/long"
)

// The second run finds what the first has prepared: it says nothing about keeping, and gives the same bits; so does a run
// without a cache, and one that finds damage.
func TestTrainPrepared(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.must("data", "synth", "products-like", "--scale", "0.005", "--out", "store")
	models := []string{"sage"}
	if long.Wanted() {
		models = append(models, "gcn")
	}
	for _, model := range models {
		args := []string{"train", "--json", "--dataset", "store", "--model", model, "--hidden", "8", "--layers", "2", "--epochs", "2", "--devices", "cpu:0,cpu:1", "--partitioner", "random"}
		var want string
		for k, step := range []struct {
			name string
			env  string
			kept bool
		}{{"without", "CAPGNN_CACHE_LIMIT=0", false}, {"first", "", true}, {"second", "", false}, {"damaged", "", true}} {
			if step.name == "damaged" {
				s.damageCache()
			}
			cmd := s.command(args...)
			cmd.Env = append(cmd.Env, step.env)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", step.name, err, stderr.String())
			}
			r := readResultLine(t, string(out))
			if k == 0 {
				want = r.SHA256
			}
			if r.SHA256 != want {
				t.Errorf("%s %s: weights %s, without a cache %s", model, step.name, r.SHA256, want)
			}
			if kept := strings.Contains(stderr.String(), "kept for later runs"); kept != step.kept {
				t.Errorf("%s %s: kept something: %t\n%s", model, step.name, kept, stderr.String())
			}
			if r.TimeS.Start <= 0 {
				t.Errorf("%s %s: started after %v s", model, step.name, r.TimeS.Start)
			}
		}
	}
}

// damageCache flips a bit in the middle of every prepared file.
func (s *sandbox) damageCache() {
	s.T.Helper()
	list, err := filepath.Glob(s.path("cache/capgnn/prepared-*"))
	if err != nil || len(list) == 0 {
		s.T.Fatalf("no prepared files: %v", err)
	}
	for _, path := range list {
		data, err := os.ReadFile(path)
		if err != nil {
			s.T.Fatal(err)
		}
		data[len(data)/2] ^= 4
		if err := os.WriteFile(path, data, 0o600); err != nil {
			s.T.Fatal(err)
		}
	}
}
