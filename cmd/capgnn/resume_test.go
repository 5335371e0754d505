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
	"capgnn/internal/long"
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
	small := "--dataset " + newStore().write(s, "ok.npz")
	run := []string{"train", "--hidden", "8", "--layers", "2", "--epochs", "1", "--quiet"}
	const equal, unequal = " --devices cpu:threads=1,cpu:threads=1", " --devices sim:rtx3090,sim:gtx1660ti"
	for k, more := range []string{
		"--dataset generated" + equal, small + equal + " --partitioner random", small + equal + " --prune 0.3",
		small + unequal, small + unequal + " --prune max=0.1",
	} {
		if !long.Nth(t, 2, k) {
			continue
		}
		s.must(append(append(run, "--run-dir", "run"), strings.Fields(more)...)...)
		text, err := os.ReadFile(s.path("run/config.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range [][2]string{{"", ""}, {"prune: 0,score=weight,max=0\n", "prune: 0.5,score=weight,max=0\n"},
			{"prune: 0.3,", "prune: 0,"}, {"prune: 0.3,", "prune: 0.2,"}, {"max=0.1", "max=0.2"},
			{"cost: auto", "cost: lambda"}, {"alpha=0.5", "alpha=0.4"}, {"balance=1.03", "balance=1.5"},
			{"partitioner: multilevel,", "partitioner: random,"}, {"hidden: 8", "hidden: 12"}, {"\nseed: 1\n", "\nseed: 7\n"}} {
			edited := strings.Replace(string(text), change[0], change[1], 1)
			changed := edited != string(text)
			if !changed && change[0] != "" {
				continue
			}
			if k == 0 && changed && !strings.Contains(change[1], "seed") && !long.Wanted() { // the others have it
				continue
			}
			if strings.Contains(change[1], "seed") { // which draws generated data, too
				edited = regexp.MustCompile("data-sha256: .*").ReplaceAllString(edited, `data-sha256: ""`)
			}
			s.put("run/config.yaml", []byte(edited))
			_, notes, code := s.run("train", "--config", "run/config.yaml", "--run-dir", "again", "--json")
			if code != 0 || strings.Contains(notes, ": the graph is cut anew") != changed || strings.Contains(notes, "as recorded") == changed {
				t.Errorf("%s, %q: exit code %d, %s", more, change[1], code, notes)
			}
			if err := os.RemoveAll(s.path("again")); err != nil {
				t.Fatal(err)
			}
			if changed {
				s.fails(term.ExitUsage, []string{"config.yaml was changed in what decides the parts", ": restore it, or start a new run with --config run/config.yaml"}, "train", "--quiet", "--resume", "run", "--epochs", "2")
			}
		}
		if err := os.RemoveAll(s.path("run")); err != nil {
			t.Fatal(err)
		}
	}
}

// Settings that somebody has changed in config.yaml are named, all of them, with what they were.
func TestEditedSettings(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must("train", "--quiet", "--dataset", "ok.npz", "--hidden", "4", "--lr", "0.02", "--epochs", "2", "--run-dir", "run")
	s.must("train", "--quiet", "--dataset", "ok.npz", "--hidden", "4", "--devices", "cpu:threads=1,cpu:threads=1", "--epochs", "2", "--run-dir", "two")
	s.must("train", "--quiet", "--dataset", "ok.npz", "--hidden", "4", "--batch-size", "8", "--epochs", "2", "--run-dir", "sampled")
	for _, c := range [][4]string{
		{"run", "^dropout: .*", "dropout: 0.25", "config.yaml is not what the run began with (--dropout is 0.25, and was 0.5): restore it, or start a new run with --config run/config.yaml"},
		{"run", "^lr: .*", "lr: 0.5", "config.yaml is not what the run began with (--lr is 0.5, and was 0.02): restore it, or start"},
		{"run", "(?s)^dropout: 0.5(.*)^lr: 0.02(.*),amsgrad=off", "dropout: 0.1${1}lr: 0.5$2,amsgrad=on", "(--dropout is 0.1, and was 0.5, --lr is 0.5, and was 0.02, --optimizer amsgrad is on, and was off)"},
		{"run", "^hidden: 4", "hidden: 8", "(--hidden is 8, and was 4)"},
		{"run", "^model: gcn", "model: sage", "(--model is sage, and was gcn)"},
		{"run", "^(split: ).*", `${1}"0.5,0.3,0.2"`, "--split"},
		{"two", "(?s)^hidden: 4(.*)^lr: 0.01$", "hidden: 8${1}lr: 0.5", "what decides the parts (--hidden is 8, and was 4, --lr is 0.5, and was 0.01): restore it"},
		{"two", "^lr: 0.01$", "lr: 0.5", "began with (--lr is 0.5, and was 0.01): restore it"},
		{"sampled", "^batch-size: 8$", "batch-size: 9", "(--batch-size is 9, and was 8)"},
		{"run", "^epochs: .*", "epochs: [", "read config run/config.yaml: "},
		{"run", "^epochs: .*", "epochs: [", ": write each setting on a line of its own, as in epochs: 200"},
		{"two", "balance=1.03", "balance=1.5", "config.yaml was changed in what decides the parts (--partitioner balance is 1.5, and was 1.03): restore it"},
	} {
		text, err := os.ReadFile(s.path(c[0] + "/config.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		edited := regexp.MustCompile("(?m)"+c[1]).ReplaceAll(text, []byte(c[2]))
		s.put(c[0]+"/config.yaml", edited)
		s.fails(term.ExitUsage, []string{c[3]}, "train", "--quiet", "--resume", c[0], "--epochs", "4")
		s.put(c[0]+"/config.yaml", text)
	}
}
