package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/runfolder"
)

// TestResumeNamesWhatWasGiven: flags beside --resume that change the run are named as the user gave them, not what follows from them.
func TestResumeNamesWhatWasGiven(t *testing.T) {
	for _, tc := range []struct{ run, flags, want string }{
		{"staleness: 4", "--comm stale", "drop --comm"},
		{"comm: stale\nstaleness: 4", "--comm stale", "drop --comm"},
		{"comm: stale", "--staleness 4", "drop --staleness"},
		{"comm: stale", "--comm encoded", "drop --comm"},
		{"comm: lean", "--comm stale --halo-backward always", "drop --comm --halo-backward"},
		{"comm: stale", "--comm stale --staleness 8", ""},
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
