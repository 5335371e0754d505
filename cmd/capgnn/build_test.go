package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// The program is the same to the byte wherever its sources lie.
func TestReproducibleBuild(t *testing.T) {
	if !long.Wanted() {
		t.Skip("compiles the program anew, without cgo: CAPGNN_LONG=1 runs it")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var built [2][]byte
	for i, name := range []string{"one", "another/and deeper"} {
		dir := filepath.Join(t.TempDir(), name)
		copySources(t, root, dir)
		out := filepath.Join(t.TempDir(), "capgnn")
		cmd := exec.Command("go", "build", "-trimpath", "-o", out, "./cmd/capgnn")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build in %s: %v\n%s", dir, err, text)
		}
		if built[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(built[i], []byte(dir)) {
			t.Errorf("the program names the folder %s", dir)
		}
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Errorf("two builds differ: %d and %d bytes", len(built[0]), len(built[1]))
	}
}

// copySources copies what the program is built of: sources, assembly and embedded files (some lie in docs), without tests' data and history.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "runs") {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !d.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// version says what the build says of itself, and a run's result says which program trained.
func TestVersion(t *testing.T) {
	s := newSandbox(t)
	var info term.BuildInfo
	if err := json.Unmarshal([]byte(s.must("version", "--json")), &info); err != nil {
		t.Fatal(err)
	}
	if info.Version == "" || info.Go != runtime.Version() || info.OS != runtime.GOOS || info.Arch != runtime.GOARCH {
		t.Errorf("version %+v", info)
	}
	if text := s.must("version"); !strings.Contains(text, info.Version) || !strings.Contains(text, info.Go) || strings.Count(text, "\n") != 1 {
		t.Errorf("version prints %q", text)
	}
	if revision, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil {
		if want := strings.TrimSpace(string(revision)); info.Commit != want && info.Commit != "" {
			t.Errorf("commit %s, want %s", info.Commit, want)
		}
	}
	newStore().write(s, "ok.npz")
	if r := s.train(small()...); r.Build != info {
		t.Errorf("the result names the program %+v, which is %+v", r.Build, info)
	}
}
