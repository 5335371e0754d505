package main

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/npy"
)

// flagsByCommand returns the flags of all commands, "data import" among them.
func flagsByCommand() map[string][]string {
	of := map[string][]string{}
	var add func(group string, commands []*cli.Command)
	add = func(group string, commands []*cli.Command) {
		for _, c := range commands {
			of[group+c.Name] = flagNames(c.Flags)
			add(group+c.Name+" ", c.Subcommands)
		}
	}
	add("", newApp(io.Discard, io.Discard).Commands)
	return of
}

var (
	quotedCommand = regexp.MustCompile("`[^`]*`")
	namedFlag     = regexp.MustCompile(`(?:([a-z]+(?: [a-z]+)?)'s )?--([a-z][a-z0-9-]+)`)
)

// strangeFlags lists the flags that a text names though the command does not have them, and names no command that has.
func strangeFlags(of map[string][]string, command, text string) (strange []string) {
	for _, m := range namedFlag.FindAllStringSubmatch(quotedCommand.ReplaceAllString(text, ""), -1) {
		owner, flag := command, m[2]
		if m[1] != "" {
			words := strings.Fields(m[1])
			for owner = m[1]; of[owner] == nil && len(words) > 0; words = words[1:] {
				owner = strings.Join(words, " ")
			}
		}
		if strings.HasSuffix(m[1], "run") { // "the run's --features": a setting
			owner = "train"
		}
		if !slices.Contains(of[owner], flag) {
			strange = append(strange, "--"+flag)
		}
	}
	return strange
}

// What is wrong with data, and what is noted of them, is said by packages that do not know which command calls them:
// whatever the command, a flag that a line names is the command's own, or is called another's.
func TestNoCommandAdvisesFlagsOfOthers(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	allTraining().write(s, "ok.npz")
	s.train(small("--run-dir", "plain", "--standardize", "train")...)
	s.train(small("--run-dir", "gat", "--model", "gat", "--features", "degree")...)
	s.train(small("--run-dir", "onehot", "--features", "onehot")...)
	bare := newStore()
	delete(bare, "x")
	delete(bare, "y")
	bare.write(s, "bare.npz")
	weighted := newStore()
	weighted["edge_weight"] = npy.Entry{Data: slices.Repeat([]float32{-1}, 120)}
	weighted.write(s, "weighted.npz")
	s.put("large.txt", []byte("1 2\n3000000000 4\n"))
	s.put("wide.txt", []byte("1 2\n30000000 4\n"))
	s.put("third.txt", []byte("0 1 0.5\n1 0 2\n"))
	s.writeFiles("sparse", map[string]string{"edges.csv": "0,1\n", "features.json": `{"0": [1], "1": [0, 5]}`, "labels.csv": "0\n1\n"})
	s.writeFiles("unread", map[string]string{"edges.csv": "0,1\n", "feats.csv": "1,2\n3,4\n", "labels.csv": "0\n1\n"})
	s.writeFiles("classes", map[string]string{"edges.csv": "0,1\n1,2\n", "features.csv": strings.Repeat("1,2,3,4,5,6\n", 3), "labels.csv": "0\n1\n2\n"})
	s.put("nodes.csv", []byte("id,city\na,Rome\nb,Oslo\n"))
	s.put("links.csv", []byte("from,to\na,c\n"))
	inputs := []string{"ok.npz", "bare.npz", "weighted.npz", "large.txt", "wide.txt", "third.txt", "sparse", "unread", "classes", "nowhere"}
	commands := map[string][][]string{
		"report":  {{"nowhere"}, {"ok.npz"}, {"plain", "--out", "nowhere/x.html"}},
		"profile": {{"--devices", "banana"}, {"--devices", "sim:0"}},
		"data tables": {{"--nodes", "nodes.csv", "--links", "links.csv", "--out", "made"}, {"--nodes", "nodes.csv", "--out", "made"},
			{"--nodes", "ok.npz", "--links", "links.csv", "--out", "made"}},
	}
	add := func(command string, args ...string) { commands[command] = append(commands[command], args) }
	for _, data := range inputs {
		for _, run := range []string{"plain", "gat", "onehot"} {
			add("predict", "--run", run, "--dataset", data, "--out", "x.npy")
		}
		add("data info", data)
		add("data info", data, "--standardize", "train")
		add("data info", data, "--compact")
		add("data import", data, "--out", "imported", "--standardize", "train")
		add("partition", "--dataset", data, "--parts", "2")
		add("partition", "--dataset", data, "--parts", "2", "--model", "gat")
		add("plan", "--dataset", data, "--devices", "cpu,mem=1KiB", "--model", "gat")
		add("plan", "--dataset", data, "--batch-size", "4", "--devices", "cpu,mem=1KiB")
		add("train", "--dataset", data, "--epochs", "1", "--hidden", "2", "--standardize", "train")
	}
	of, named := flagsByCommand(), map[string]bool{}
	for command, calls := range commands {
		for _, args := range calls {
			_, errs, code := s.run(append(strings.Fields(command), args...)...)
			if code != term.ExitDone && code != term.ExitUsage && code != term.ExitDoesNotFit {
				t.Errorf("%s %v: exit code %d", command, args, code)
			}
			for line := range strings.Lines(errs) {
				named[command] = named[command] || strings.Contains(line, "--")
				if strange := strangeFlags(of, command, line); strange != nil {
					t.Errorf("%s %v: names %v, which it does not have: %s", command, args, strange, line)
				}
			}
		}
	}
	for command := range commands {
		if command != "report" && !named[command] {
			t.Errorf("%s: no line names a flag: this test tests nothing there", command)
		}
	}
	text := "use --standardize none, train's --edges, data import's --compact, the run's --features, `capgnn train --hidden 5` or --run; report's --edges"
	if got := strangeFlags(of, "predict", text); !slices.Equal(got, []string{"--standardize", "--edges"}) {
		t.Errorf("found %v", got)
	}
}
