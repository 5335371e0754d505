package main

import (
	"encoding/json"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

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
	stdout, err := s.command(append([]string{"train", "--json", "--quiet"}, small()...)...).Output() // no worker: it is another program
	if err != nil {
		t.Fatal(err)
	}
	if r := readResultLine(t, string(stdout)); term.BuildInfo(r.Build) != info {
		t.Errorf("the result names the program %+v, which is %+v", r.Build, info)
	}
}
