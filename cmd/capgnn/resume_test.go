package main

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// TestResumeNamesWhatWasGiven: flags beside --resume that change the run are named as the user gave them, not what follows from them.
func TestResumeNamesWhatWasGiven(t *testing.T) {
	for _, tc := range []struct{ run, flags, want string }{
		{"staleness: 4", "--staleness 8", "drop --staleness"},
		{"staleness: 8\nhalo-dtype: int8", "--staleness 8 --halo-dtype bf16", "drop --halo-dtype"},
		{"staleness: 8\nhalo-dtype: int8", "--staleness 8", ""},
		{"partitioner: multilevel", "--isolated", "drop --isolated"},
	} {
		was := runfolder.Default()
		if err := runfolder.ParseConfig([]byte(tc.run), &was); err != nil {
			t.Fatal(err)
		}
		app := &cli.App{Flags: runfolder.Flags(), Action: func(c *cli.Context) error { return refuseChanges(c, "run", was, false) }}
		err := app.Run(append([]string{"train"}, strings.Fields(tc.flags)...))
		if got := err != nil; got != (tc.want != "") || got && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("a run of %q with %s: %v, want %q", tc.run, tc.flags, err, tc.want)
		}
	}
}

// What is no run is said as it is: a link that leads nowhere, nothing, a file, a folder.
func TestNoRunThere(t *testing.T) {
	s := newSandbox(t)
	s.put("file", nil)
	if err := errors.Join(os.Symlink("gone", s.path("link")), os.Mkdir(s.path("empty"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"link": "link to gone, which is not there", "none": "there is no such folder", "file": "it is a file", "empty": "the folder has no config.yaml"} {
		s.fails(term.ExitUsage, []string{"--resume " + name + ": no run there: ", want}, "train", "--resume", name)
		s.fails(term.ExitUsage, []string{"--run " + name + ": no run there: ", want}, "predict", "--run", name)
		s.fails(term.ExitUsage, []string{"report: " + name + " holds no run: ", want}, "report", name)
	}
}

// Settings of the cut that somebody has changed in config.yaml do not keep the recorded parts.
func TestEditedCut(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	parts := func(more ...string) []string {
		return small(append([]string{"--epochs", "2", "--devices", "cpu:threads=1,cpu:threads=1"}, more...)...)
	}
	s.train(parts("--run-dir", "run")...)
	text, err := os.ReadFile(s.path("run/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for was, is := range map[string]string{"prune: 0,": "prune: 0.5,", "partitioner: multilevel,": "partitioner: random,", "\nseed: 1\n": "\nseed: 7\n"} {
		edited := strings.Replace(string(text), was, is, 1)
		if edited == string(text) {
			t.Fatalf("no %q in\n%s", was, text)
		}
		if strings.Contains(is, "seed") { // which draws the split, too
			edited = regexp.MustCompile("data-sha256: .*").ReplaceAllString(edited, `data-sha256: ""`)
		}
		s.put("run/config.yaml", []byte(edited))
		s.fails(term.ExitUsage, []string{"--resume run: somebody has changed settings of the cut in run/config.yaml"}, "train", "--quiet", "--resume", "run")
		_, notes, code := s.run("train", "--config", "run/config.yaml", "--run-dir", "again", "--json")
		if code != 0 || !strings.Contains(notes, "the graph is cut anew") || strings.Contains(notes, "as recorded") {
			t.Errorf("%s: exit code %d, %s", is, code, notes)
		}
		if err := os.RemoveAll(s.path("again")); err != nil {
			t.Fatal(err)
		}
	}
	s.put("run/config.yaml", text)
	if _, notes, code := s.run("train", "--config", "run/config.yaml", "--run-dir", "again", "--json"); code != 0 || !strings.Contains(notes, "as recorded") {
		t.Errorf("not changed: exit code %d, %s", code, notes)
	}
}
