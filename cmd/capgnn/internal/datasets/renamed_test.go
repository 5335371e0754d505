package datasets

import (
	"os"
	"path/filepath"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// A config file whose data set is another one than its path is refused, and not read from that path.
func TestRenamed(t *testing.T) {
	t.Setenv("CAPGNN_DATA", "")
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"a", "b", "sub"} {
		if err := os.WriteFile(filepath.Join(dir, name+".npz"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		dataset, path string
		ok            bool
	}{
		{"a.npz", at("a.npz"), true},
		{at("a.npz"), at("a.npz"), true},
		{"../elsewhere/a.npz", at("a.npz"), true}, // from another folder
		{"gone", "/data/planetoid_gone", true},    // a name that stood for it
		{".", at(""), true},
		{"b.npz", at("a.npz"), false},
		{at("b.npz"), at("a.npz"), false},
		{"not/there.npz", at("a.npz"), false},
	} {
		path, err := locate(nil, &runfolder.Config{Dataset: c.dataset, DatasetPath: c.path})
		if ok := err == nil; ok != c.ok || ok && path != c.path || !ok && term.ExitCode(err) != term.ExitUsage {
			t.Errorf("%s with path %s is read from %q, %v", c.dataset, c.path, path, err)
		}
	}
}
