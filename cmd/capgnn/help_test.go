package main

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// everyCommand calls visit with every command that does something, and how it is called.
func everyCommand(visit func(words string, cmd *cli.Command)) {
	for _, cmd := range newApp(io.Discard, io.Discard).Commands {
		if len(cmd.Subcommands) == 0 {
			visit(cmd.Name, cmd)
		}
		for _, sub := range cmd.Subcommands {
			visit(cmd.Name+" "+sub.Name, sub)
		}
	}
}

// Every flag that takes a value says in a word what it takes, and every command has an example of flags that it has.
func TestHelpHasWordsAndExamples(t *testing.T) {
	of := map[string]map[string]bool{}
	everyCommand(func(words string, cmd *cli.Command) {
		of[words] = map[string]bool{}
		for _, f := range cmd.Flags {
			of[words]["--"+f.Names()[0]] = true
		}
	})
	everyCommand(func(words string, cmd *cli.Command) {
		for _, f := range cmd.Flags {
			if word, usage := flagValue(f); f.(cli.DocGenerationFlag).TakesValue() && word == "" {
				t.Errorf("%s --%s: no word for its value in %q", words, f.Names()[0], usage)
			}
		}
		if !strings.Contains(cmd.UsageText, "capgnn "+words) {
			t.Errorf("%s: the example is %q", words, cmd.UsageText)
		}
		own, other, _ := strings.Cut(cmd.UsageText, " -- ") // flags of a command that this one runs
		name, _, _ := strings.Cut(other, " ")
		for text, command := range map[string]string{own: words, other: name} {
			for word := range strings.FieldsSeq(text) {
				if strings.HasPrefix(word, "--") && !of[command][word] {
					t.Errorf("%s: the example has %s, which is no flag of %s", words, word, command)
				}
			}
		}
	})
}

// train has its flags in groups, every one of them in one.
func TestHelpHasGroups(t *testing.T) {
	for _, f := range runfolder.FlagsOf(runfolder.FlagNames(runfolder.Option.Setting)...) {
		if f.(cli.CategorizableFlag).GetCategory() == "" {
			t.Errorf("--%s stands in no group", f.Names()[0])
		}
	}
	cmd := trainCommand()
	text := helpText{columns: helpColumns, all: true}.command(cmd, "capgnn train")
	at := 0
	for _, want := range []string{"\nUsage\n  capgnn train [FLAGS]\n", "\nExample\n  capgnn train --dataset", "\n" + runfolder.GroupData + "\n  --dataset NAME ", "\n" + runfolder.GroupModel + "\n", "\n" + runfolder.GroupTraining + "\n",
		"\n" + runfolder.GroupParts + "\n", "\n" + runfolder.GroupExchange + "\n", "\n" + runfolder.GroupRun + "\n", "\nOutput and help\n  --json"} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("no %q behind byte %d of\n%s", want, at, text)
		}
		at += i
	}
}

// What most runs need stands on three screens of 80 columns; the rest is one word away.
func TestEverydayHelp(t *testing.T) {
	cmd := trainCommand()
	brief, whole := helpText{columns: helpColumns}.command(cmd, "capgnn train"), helpText{columns: helpColumns, all: true}.command(cmd, "capgnn train")
	flags := 0
	for _, f := range cmd.Flags {
		line := "\n  --" + f.Names()[0] + " "
		if everyday(f.Names()[0]) {
			flags++
		}
		if !strings.Contains(whole, line) || strings.Contains(brief, line) != everyday(f.Names()[0]) {
			t.Errorf("--%s is missing, or stands where it should not", f.Names()[0])
		}
	}
	if n := strings.Count(brief, "\n"); n > 80 || flags > 30 || flags < 20 {
		t.Errorf("%d flags in %d lines:\n%s", flags, n, brief)
	}
}

// Help is as wide as it was asked to be, that of groups too: only a word that is longer stands out.
func TestHelpFits(t *testing.T) {
	for _, columns := range []int{leastHelpColumns, 60, helpColumns} {
		h := helpText{columns: columns}
		check := func(words, text string) {
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\n")
				long := columns < helpColumns && !strings.Contains(strings.TrimSpace(strings.TrimSuffix(line, " \\")), " ")
				if utf8.RuneCountInString(line) > columns && !long {
					t.Errorf("%s at %d columns: %q", words, columns, line)
				}
			}
			if strings.Contains(text, "{{") || strings.ContainsAny(text, "\t") {
				t.Errorf("%s: the text is no template of itself", words)
			}
		}
		app := newApp(io.Discard, io.Discard)
		check("help", h.app(app))
		for _, cmd := range app.Commands {
			check(cmd.Name, h.command(cmd, "capgnn "+cmd.Name))
		}
		everyCommand(func(words string, cmd *cli.Command) {
			text := h.command(cmd, "capgnn "+words)
			check(words, text)
			if whole := strings.ReplaceAll(text, " \\\n   ", ""); !strings.Contains(whole, "\nExample\n  "+strings.ReplaceAll(cmd.UsageText, "\n", "\n  ")+"\n") {
				t.Errorf("%s at %d columns: a shell reads no longer the example in\n%s", words, columns, text)
			}
		})
	}
}

// Every way to ask for the help of a command gives that, and one of a command that is not there one line.
func TestWaysToHelp(t *testing.T) {
	s := newSandbox(t)
	for want, ways := range map[string][]string{
		"capgnn: train graph":                           {"help", "--help", "help help", "-h help"},
		"capgnn train: ":                                {"help train", "train help", "--help train", "train --help"},
		"capgnn data: list, ":                           {"help data", "data help", "data --help"},
		"capgnn data info: print what is in a data set": {"help data info all", "help data info", "data help info", "data info help", "-h data info", "help data info --json", "data --help info"},
	} {
		for _, way := range ways {
			if text := s.must(strings.Fields(way)...); !strings.HasPrefix(text, want) {
				t.Errorf("capgnn %s: %.60q, want %q", way, text, want)
			}
		}
	}
	for way, want := range map[string]string{
		"help nope": `no command "nope"`, "help data nope": `no command "data nope"`, "data help nope": `no command "data nope"`, "help train nope": `no command "train nope"`,
		"help data info nope": "no command \"data info nope\": see `capgnn data info --help`", "help data inof": "did you mean",
	} {
		s.fails(term.ExitUsage, []string{want}, strings.Fields(way)...)
	}
}
