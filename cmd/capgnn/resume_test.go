package main

import (
	"errors"
	"os"
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
